"""Pseudo-marginal Metropolis-Hastings over the number of topics (Chen & Doss 2018, section 4.2)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import softmax

from sklda._core import random
from sklda._core.parallel import in_parallel
from sklda._likelihood.evidence.annealing import check_memory_of_runs
from sklda._likelihood.evidence.estimates import METHODS, forward_runs
from sklda._likelihood.held_out.averages import log_mean, log_mean_exp
from sklda._models.topic_count.count_prior import LARGEST
from sklda._models.topic_count.posterior import ESTIMATE, ModelDraws, Posterior, credible_interval
from sklda._sampling.annealed_start import ANNEAL_SWEEPS, anneal
from sklda._sampling.run_chains import NO_RUN

# Largest number of states of z that are kept for each number of topics, the last accepted ones.
_KEPT_STATES = 16
# Parts of the proposals, after which progress is reported.
_STAGES = 10
# The largest number of topics if the range has no upper end.
_LARGEST_WITHOUT_END = 20


@dataclass(frozen=True, eq=False)
class Trace:
    """The chain over the number of topics.

    Attributes
    ----------
    counts : ndarray of shape (n_proposals + 1,)
        The first number of topics, and the number after every proposal.
    log_evidence : ndarray of shape (n_proposals + 1,)
        The estimate of log p(w | T) at these numbers of topics.
    proposed : ndarray of shape (n_proposals + 1,)
        The first number of topics, and the proposals.
    proposed_log_evidence : ndarray of shape (n_proposals + 1,)
        The estimate of log p(w | T) for each proposal.
    """

    counts: np.ndarray
    log_evidence: np.ndarray
    proposed: np.ndarray
    proposed_log_evidence: np.ndarray

    @property
    def accepted(self):
        """Whether each proposal was accepted, (n_proposals,)."""
        return self.counts[1:] != self.counts[:-1]

    @property
    def longest_stay(self):
        """Largest number of proposals in a row that were rejected."""
        moves = np.flatnonzero(np.concatenate([[True], self.accepted, [True]]))
        return int(np.diff(moves).max()) - 1

    def shares(self, counts):
        """Share of the steps at each of `counts`, and its standard error by batch means."""
        at = (self.counts[:, None] == counts).astype(float)
        if len(at) == 1:
            # The largest standard deviation of a share.
            return at[0], np.full(at.shape[1], 0.5)
        n_batches = max(int(len(at) ** 0.5), 2)
        batches = np.array([part.mean(axis=0) for part in np.array_split(at, n_batches)])
        return at.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(n_batches)

    def log_evidence_at(self, T):
        """log of the mean of all estimates made for T, accepted or not, and its standard error; NaN without any."""
        found = self.proposed_log_evidence[self.proposed == T]
        return log_mean_exp(found) if len(found) else (np.nan, np.nan)


class PMMH:
    """Pseudo-marginal Metropolis-Hastings over the number of topics.

    The proposal is one of the two neighbours of T with probability 1/2 each, or the only neighbour of an end. Every
    proposal has a new unbiased estimate of p(w | T), by chains whose first state for T is always the same. The estimate
    of an accepted T is kept until the chain leaves T. So the chain is exact for every variance of the estimates.

    Parameters
    ----------
    corpus : Corpus
    rule : PriorRule
        alpha and eta at each number of topics, equal for all its topics. Nothing of them is unknown.
    prior : CountPrior
        p(T), and the range.
    settings : EvidenceSettings
        Its method is one of `estimates.UNBIASED`.
    n_proposals : int
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
    run : Run, optional
        Tenths of the proposals are stages of it.

    Attributes
    ----------
    trace : Trace
        Set by `estimate`, as is `recycled`.
    recycled : ndarray of shape (n_counts,)
        The posterior from the mean of all estimates made for each number of topics.
    """

    def __init__(self, corpus, rule, prior, settings, *, n_proposals, seed, n_jobs=None, run=NO_RUN):
        self.corpus, self.rule, self.settings, self.n_proposals = corpus, rule, settings, n_proposals
        self.seed, self.n_jobs, self.run = seed, n_jobs, run
        # The rows of `Trace`, and the last accepted states by number of topics.
        self.rows, self.ends = [], {}
        self.log_prior = prior.up_to(_LARGEST_WITHOUT_END if prior.open else LARGEST)
        self.counts = sorted(self.log_prior)
        self.rng = np.random.default_rng(random.child(seed, 3))

    def estimate(self):
        """Run the chain.

        Returns
        -------
        Posterior
            If there are estimates, also after Ctrl-C, after a callback asked to stop, and if the memory does not do.
        """
        unfinished = ""
        try:
            if self._propose() < self.n_proposals:
                unfinished = "a callback stopped the fit"
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.run.leaves_the_plan()
            unfinished = "the fit was interrupted"
        except MemoryError as error:
            if not self.rows:
                raise
            self.run.leaves_the_plan()
            unfinished = str(error).rstrip(".") or "the memory was full"
        self.trace = Trace(*map(np.array, zip(*self.rows, strict=True)))
        return self._result(unfinished)

    def _propose(self):
        """Make the proposals; their number. The rows and ends are consistent whenever Ctrl-C ends it."""
        check_memory_of_runs(self.corpus, max(self.counts), self.settings.method)
        self.priors = {T: self.rule.at(T) for T in self.counts}
        tasks = [(self.corpus, self.priors[T], random.child(self.seed, 0, T)) for T in self.counts]
        found = self.run.parallel(_annealed_state, tasks, self.n_jobs)
        self.states = {T: [state] for T, state in zip(self.counts, found, strict=True)}
        log_prior = np.array([self.log_prior[T] for T in self.counts])
        T = int(self.rng.choice(self.counts, p=softmax(log_prior)))
        value, end = self._estimate(T, 0)
        self.ends[T] = [end]
        self.rows.append((T, value, T, value))
        n_each = max(self.n_proposals // _STAGES, 1)
        for n_done in range(0, self.n_proposals, n_each):
            last = min(n_done + n_each, self.n_proposals)
            self.rows, self.ends, state = self.run.once(partial(self._proposals, n_done + 1, last))
            self.rng.bit_generator.state = state
            text = f"{last} of {self.n_proposals} proposals, {self.rows[-1][0]} topics"
            if last == n_done + n_each and self.run.progress.stage(text):
                return last
        return self.n_proposals

    def _proposals(self, first, last):
        """Make some of the proposals: all rows and ends so far, and the state of the random numbers."""
        log_prior, rng = self.log_prior, self.rng
        for i in range(first, last + 1):
            T, value, *_ = self.rows[-1]
            proposed, log_back = propose_neighbour(self.counts, T, rng)
            new, new_end = self._estimate(proposed, i)
            accept = np.log(rng.random()) < new + log_prior[proposed] - value - log_prior[T] + log_back
            if accept:
                T, value = proposed, new
                self.ends = self.ends | {T: [*self.ends.get(T, []), new_end][-_KEPT_STATES:]}
            self.rows.append((T, value, proposed, new))
        return self.rows, self.ends, rng.bit_generator.state

    def _estimate(self, T, i):
        """log of unbiased estimate number i of p(w | T), and the last state of z. Every i has its own streams."""
        seed = random.child(self.seed, 1, i, METHODS.index(self.settings.method), 0)
        task = self.corpus, self.priors[T], self.states[T][0], self.settings, seed
        ((log_weights, ends),) = in_parallel(forward_runs, [task], self.n_jobs)
        chosen = self.rng.choice(len(ends), p=softmax(log_weights))
        return float(log_mean(log_weights)), ends[chosen]

    def _result(self, unfinished):
        """`Posterior` by the trace."""
        trace, counts = self.trace, np.array(self.counts)
        value, std = np.array([trace.log_evidence_at(T) for T in self.counts]).T
        log_recycled = np.array([self.log_prior[T] for T in self.counts]) + np.where(np.isnan(value), -np.inf, value)
        self.recycled = softmax(log_recycled)
        probability, probability_std = trace.shares(self.counts)
        mode = int(counts[np.argmax(probability)])
        n_sweeps = self.settings.n_runs * (self.settings.n_sweeps if self.settings.annealed else self.settings.n_inner)
        proposals = zip(trace.proposed.tolist(), trace.proposed_log_evidence.tolist(), strict=True)
        return Posterior(
            counts,
            probability,
            probability_std,
            credible_interval(self.counts, probability),
            mode,
            value,
            std,
            np.array([(T, 0, n_sweeps, log_weight, np.nan) for T, log_weight in proposals], ESTIMATE),
            {T: ModelDraws(self.rule, self.priors[T], kept, np.zeros(len(kept))) for T, kept in self.ends.items()},
            self.states[mode],
            self._sweeps(len(trace.counts)),
            unfinished=unfinished,
        )

    def _sweeps(self, n_estimates):
        """Sweeps of the first chains and of this many estimates."""
        return len(self.counts) * ANNEAL_SWEEPS + n_estimates * self.settings.sweeps_of_estimate()


def _annealed_state(corpus, priors, seed, stop):
    return anneal(corpus, priors, seed, stop).state().compact(priors.n_components)


def propose_neighbour(counts, T, rng):
    """A proposal from T, and log of the ratio of the proposal probabilities, backwards over forwards."""
    here = counts.index(T)
    near = [i for i in (here - 1, here + 1) if 0 <= i < len(counts)]
    if not near:
        return T, 0.0
    there = near[rng.integers(len(near))]
    back = sum(0 <= i < len(counts) for i in (there - 1, there + 1))
    return counts[there], np.log(len(near) / back)
