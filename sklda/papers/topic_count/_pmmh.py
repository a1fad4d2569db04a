"""Pseudo-marginal Metropolis-Hastings over the number of topics (Chen & Doss 2018, section 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy.special import softmax

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import in_parallel
from sklda._likelihood.held_out.averages import log_mean, log_mean_exp
from sklda._models.topic_count.count_prior import LARGEST, CountPrior
from sklda._models.topic_count.posterior import ESTIMATE, ModelDraws, Posterior, credible_interval
from sklda._models.topic_count.runs import PriorRule
from sklda._sampling.annealed_start import ANNEAL_SWEEPS, anneal
from sklda._sampling.chain import ChainState
from sklda._sampling.run_chains import NO_RUN, Run
from sklda.papers.topic_count._forward_runs import UNBIASED, ForwardSettings, check_memory_of_runs, forward_runs

# Largest number of states of z that are kept for each number of topics, the last accepted ones.
_KEPT_STATES = 16
# Parts of the proposals, after which progress is reported.
_STAGES = 10
# The largest number of topics if the range has no upper end.
_LARGEST_WITHOUT_END = 20


@dataclass(frozen=True, eq=False)
class Trace:
    """The chain over the number of topics; the first row of each array, (n_proposals + 1,), is its beginning."""

    counts: np.ndarray  # the number of topics after every proposal
    log_evidence: np.ndarray  # the estimates of log p(w | T) that belong to `counts`
    proposed: np.ndarray  # the proposals
    proposed_log_evidence: np.ndarray  # the estimate of log p(w | T) of every proposal

    @classmethod
    def of(cls, rows: list[tuple]) -> Self:
        """From rows of the four values."""
        counts, log_evidence, proposed, proposed_log_evidence = map(np.array, zip(*rows, strict=True))
        return cls(
            counts=counts,
            log_evidence=log_evidence,
            proposed=proposed,
            proposed_log_evidence=proposed_log_evidence,
        )

    @property
    def accepted(self) -> np.ndarray:
        """Whether each proposal was accepted, (n_proposals,)."""
        return self.counts[1:] != self.counts[:-1]

    @property
    def longest_stay(self) -> int:
        """Largest number of proposals in a row that were rejected."""
        moves = np.flatnonzero(np.concatenate([[True], self.accepted, [True]]))
        return int(np.diff(moves).max()) - 1

    def shares(self, counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Share of the steps at each of `counts`, and its standard error by batch means."""
        at = (self.counts[:, None] == counts).astype(float)
        if len(at) == 1:
            # The largest standard deviation of a share.
            return at[0], np.full(at.shape[1], 0.5)
        n_batches = max(int(len(at) ** 0.5), 2)
        batches = np.array([part.mean(axis=0) for part in np.array_split(at, n_batches)])
        return at.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(n_batches)

    def log_evidence_at(self, T: int) -> tuple[float, float]:
        """log of the mean of all estimates made for T, accepted or not, and its standard error; NaN without any."""
        found = self.proposed_log_evidence[self.proposed == T]
        return log_mean_exp(found) if len(found) else (np.nan, np.nan)


class PMMH:
    """Pseudo-marginal Metropolis-Hastings over the number of topics.

    The proposal is one of the two neighbours of T with probability 1/2 each, or the only neighbour of an end. Every
    proposal has a new unbiased estimate of p(w | T), by chains whose first state for T is always the same. The estimate
    of an accepted T is kept until the chain leaves T. So the chain is exact for every variance of the estimates.

    The settings have one of the `UNBIASED` methods, and the rule no unknown priors. Tenths of the proposals
    are stages of the `run`. After `estimate` the chain is in `trace`, and `recycled` has the posterior from the mean of
    all estimates made for each number of topics, (n_counts,).
    """

    trace: Trace
    recycled: np.ndarray

    def __init__(
        self,
        corpus: Corpus,
        rule: PriorRule,
        prior: CountPrior,
        settings: ForwardSettings,
        *,
        n_proposals: int,
        seed: np.random.SeedSequence,
        n_jobs: int | None = None,
        run: Run = NO_RUN,
    ) -> None:
        self.corpus = corpus
        self.rule = rule
        self.settings = settings
        self.n_proposals = n_proposals
        self.seed = seed
        self.n_jobs = n_jobs
        self.run = run
        # log p(T) by number of topics.
        self.log_prior = prior.up_to(_LARGEST_WITHOUT_END if prior.open else LARGEST)
        self.counts = sorted(self.log_prior)
        self.rng = np.random.default_rng(random.child(seed, 3))
        # The rows of `Trace`, and the last accepted states by number of topics.
        self.rows: list[tuple] = []
        self.ends: dict[int, list] = {}

    def estimate(self) -> Posterior:
        """Run the chain.

        If there are estimates, they are the result also after Ctrl-C, after a callback asked to stop, and if the memory
        was full.
        """
        unfinished = ""
        try:
            self._begin()
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
        self.trace = Trace.of(self.rows)
        return self._result(unfinished)

    def _begin(self) -> None:
        """An annealed state for each number of topics; the first number of topics, drawn from the prior."""
        check_memory_of_runs(self.corpus, max(self.counts), self.settings.method)
        self.priors = {T: self.rule.at(T) for T in self.counts}
        tasks = [(self.corpus, self.priors[T], random.child(self.seed, 0, T)) for T in self.counts]
        found = self.run.parallel(_annealed_state, tasks, self.n_jobs)
        self.states = dict(zip(self.counts, found, strict=True))
        log_prior = np.array([self.log_prior[T] for T in self.counts])
        T = int(self.rng.choice(self.counts, p=softmax(log_prior)))
        value, end = self._estimate(T, 0)
        self.ends[T] = [end]
        self.rows.append((T, value, T, value))

    def _propose(self) -> int:
        """Make the proposals; their number. The rows and ends are consistent whenever Ctrl-C ends it."""
        n_each = max(self.n_proposals // _STAGES, 1)
        for n_done in range(0, self.n_proposals, n_each):
            last = min(n_done + n_each, self.n_proposals)
            self.rows, self.ends, state = self.run.once(partial(self._proposals, n_done + 1, last))
            # A stage that was saved is not made again, so the random numbers continue behind it.
            self.rng.bit_generator.state = state
            text = f"{last} of {self.n_proposals} proposals, {self.rows[-1][0]} topics"
            if last == n_done + n_each and self.run.progress.stage(text):
                return last
        return self.n_proposals

    def _proposals(self, first: int, last: int) -> tuple[list[tuple], dict[int, list], Mapping]:
        """Make some of the proposals: all rows and ends so far, and the state of the random numbers."""
        log_prior = self.log_prior
        for i in range(first, last + 1):
            T, value, *_ = self.rows[-1]
            proposed, log_back = propose_neighbour(self.counts, T, self.rng)
            new, new_end = self._estimate(proposed, i)
            log_ratio = new + log_prior[proposed] - value - log_prior[T] + log_back
            if np.log(self.rng.random()) < log_ratio:
                T = proposed
                value = new
                self.ends = self.ends | {T: [*self.ends.get(T, []), new_end][-_KEPT_STATES:]}
            self.rows.append((T, value, proposed, new))
        return self.rows, self.ends, self.rng.bit_generator.state

    def _estimate(self, T: int, i: int) -> tuple[float, ChainState]:
        """log of unbiased estimate number i of p(w | T), and the last state of z. Every i has its own streams."""
        seed = random.child(self.seed, 1, i, UNBIASED.index(self.settings.method), 0)
        task = (self.corpus, self.priors[T], self.states[T], self.settings, seed)
        ((log_weights, ends),) = in_parallel(forward_runs, [task], self.n_jobs)
        chosen = self.rng.choice(len(ends), p=softmax(log_weights))
        return float(log_mean(log_weights)), ends[chosen]

    def _result(self, unfinished: str) -> Posterior:
        """`Posterior` by the trace."""
        trace = self.trace
        counts = np.array(self.counts)
        value, std = np.array([trace.log_evidence_at(T) for T in self.counts]).T
        log_recycled = np.array([self.log_prior[T] for T in self.counts]) + np.where(np.isnan(value), -np.inf, value)
        self.recycled = softmax(log_recycled)
        probability, probability_std = trace.shares(self.counts)
        mode = int(counts[np.argmax(probability)])
        n_sweeps = self.settings.n_runs * (self.settings.n_sweeps if self.settings.annealed else self.settings.n_inner)
        proposals = zip(trace.proposed.tolist(), trace.proposed_log_evidence.tolist(), strict=True)
        return Posterior(
            counts=counts,
            probability=probability,
            std=probability_std,
            interval=credible_interval(self.counts, probability),
            mode=mode,
            log_evidence=value,
            log_evidence_std=std,
            estimates=np.array([(T, 0, n_sweeps, log_weight, np.nan) for T, log_weight in proposals], ESTIMATE),
            draws={
                T: ModelDraws(rule=self.rule, priors=self.priors[T], ends=kept, log_weights=np.zeros(len(kept)))
                for T, kept in self.ends.items()
            },
            states=[self.states[mode]],
            n_sweeps=self._sweeps(len(trace.counts)),
            unfinished=unfinished,
        )

    def _sweeps(self, n_estimates: int) -> int:
        """Sweeps of the first chains and of this many estimates."""
        return len(self.counts) * ANNEAL_SWEEPS + n_estimates * self.settings.sweeps_of_estimate()


def _annealed_state(corpus, priors, seed, stop):
    return anneal(corpus, priors, seed, stop).state().compact(priors.n_components)


def propose_neighbour(counts: list[int], T: int, rng: np.random.Generator) -> tuple[int, float]:
    """A proposal from T, and log of the ratio of the proposal probabilities, backwards over forwards."""
    here = counts.index(T)
    near = [i for i in (here - 1, here + 1) if 0 <= i < len(counts)]
    if not near:
        return T, 0.0
    there = near[rng.integers(len(near))]
    back = sum(0 <= i < len(counts) for i in (there - 1, there + 1))
    return counts[there], np.log(len(near) / back)
