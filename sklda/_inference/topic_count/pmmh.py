"""Pseudo-marginal Metropolis-Hastings over the number of topics."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.evidence import annealing as evidence
from sklda._inference.evidence.combining import combine
from sklda._inference.topic_count.evidence_by_count import credible_interval, normalised
from sklda._inference.topic_count.scan import RUN, Result, prunings

# States of z that are kept for each number of topics.
_KEPT = 16


@dataclass(frozen=True, eq=False)
class Trace:
    """What pseudo-marginal Metropolis-Hastings leaves.

    Attributes
    ----------
    counts : ndarray of shape (n_proposals + 1,)
        The number of topics after every proposal, the start first.
    log_evidence : ndarray of shape (n_proposals + 1,)
        The estimate of log p(w | T) that the chain holds.
    proposed : ndarray of shape (n_proposals + 1,)
        The number of topics proposed; the start for the first.
    proposed_log_evidence : ndarray of shape (n_proposals + 1,)
        Its estimate.
    """

    counts: np.ndarray
    log_evidence: np.ndarray
    proposed: np.ndarray
    proposed_log_evidence: np.ndarray

    @property
    def accepted(self):
        """Whether each proposal was, (n_proposals,)."""
        return self.counts[1:] != self.counts[:-1]

    @property
    def longest_stay(self):
        """Most proposals in a row that were not accepted."""
        moves = np.flatnonzero(np.concatenate([[True], self.accepted, [True]]))
        return int(np.diff(moves).max()) - 1

    def shares(self, counts):
        """Share of the steps at each of `counts`, and its standard error by batch means."""
        at = (self.counts[:, None] == counts).astype(float)
        n_batches = max(int(len(at) ** 0.5), 2)
        batches = np.array([part.mean(axis=0) for part in np.array_split(at, n_batches)])
        return at.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(n_batches)

    def log_evidence_at(self, T):
        """log of the mean of all estimates made for T, accepted or not, and its standard error; NaN without any."""
        estimates = self.proposed_log_evidence[self.proposed == T]
        return combine(estimates[:, None])[:2] if len(estimates) else (np.nan, np.nan)


def pmmh(
    corpus, priors_of, log_prior, *, method, n_temperatures, n_runs, n_inner, n_proposals, seed, n_jobs=None, report
):
    """Pseudo-marginal Metropolis-Hastings over the number of topics (Chen & Doss 2018, section 4.2).

    T moves to a neighbour in `log_prior` with probability 1/2 each, from an end to its only neighbour. Every proposal
    gets a fresh unbiased estimate of p(w | T), from a pilot that is the same whenever T is proposed, and what is
    accepted keeps its estimate until it is left: so the chain is exact however crude the estimates are.

    Parameters
    ----------
    corpus, priors_of, log_prior, method, n_temperatures, n_runs, n_inner, seed, n_jobs, report
        As in `Scan`; `method` one of `evidence.UNBIASED`.
    n_proposals : int

    Returns
    -------
    trace : Trace
    result : Result
    recycled : ndarray of shape (n_counts,)
        The posterior from the mean of all estimates made for each number of topics.
    """
    counts = sorted(log_prior)
    rng = np.random.default_rng(random.child(seed, 3))
    priors, (pilots,) = prunings(corpus, priors_of, counts, [random.child(seed, 0)], n_jobs)

    def estimate(T, i):
        """log of an unbiased estimate of p(w | T), from streams that nothing else uses, and where z ended."""
        ((log_weights, ends, _, _),) = evidence.run_pilots(
            corpus,
            [(priors[T], [pilots[T]], random.child(seed, 1, i))],
            method=method,
            temperatures=[n_temperatures] * n_runs,
            n_inner=n_inner,
            beside=False,
            n_jobs=n_jobs,
        )
        chosen = rng.choice(n_runs, p=normalised(log_weights[0]))
        return combine(log_weights)[0], ends[chosen]

    T = int(rng.choice(counts, p=normalised(np.array([log_prior[t] for t in counts]))))
    value, end = estimate(T, 0)
    rows, ends = [(T, value, T, value)], {T: [end]}
    for i in range(1, n_proposals + 1):
        proposed, log_back = _neighbour(counts, T, rng)
        new, new_end = estimate(proposed, i)
        accept = np.log(rng.random()) < new + log_prior[proposed] - value - log_prior[T] + log_back
        if accept:
            T, value, end = proposed, new, new_end
            ends[T] = [*ends.get(T, []), end][-_KEPT:]
        rows.append((T, value, proposed, new))
        if i % max(n_proposals // 10, 1) == 0 and report(f"{i} of {n_proposals} proposals, {T} topics"):
            break
    trace = Trace(*map(np.array, zip(*rows, strict=True)))
    value, std = np.array([trace.log_evidence_at(T) for T in counts]).T
    posterior, posterior_std = trace.shares(counts)
    n_sweeps = n_runs * (n_temperatures if method in evidence.ANNEALED else n_inner)
    result = Result(
        np.array(counts),
        posterior,
        posterior_std,
        credible_interval(counts, posterior),
        value,
        std,
        np.zeros(len(counts)),
        np.array([(T, 0, n_sweeps, each) for _, _, T, each in rows], RUN),
        {T: (priors[T], [pilots[T]], kept, np.zeros(len(kept))) for T, kept in ends.items()},
        n_sweeps * len(rows),
    )
    log_recycled = np.array([log_prior[T] for T in counts]) + np.where(np.isnan(value), -np.inf, value)
    return trace, result, normalised(log_recycled)


def _neighbour(counts, T, rng):
    """A proposal from T, and log of the proposal density back over the one there."""
    here = counts.index(T)
    near = [i for i in (here - 1, here + 1) if 0 <= i < len(counts)]
    if not near:
        return T, 0.0
    there = near[rng.integers(len(near))]
    back = sum(0 <= i < len(counts) for i in (there - 1, there + 1))
    return counts[there], np.log(len(near) / back)
