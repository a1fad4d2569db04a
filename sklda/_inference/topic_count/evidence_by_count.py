"""The log evidence of each number of topics, from the chains that had runs there."""

from dataclasses import dataclass, field

import numpy as np

from sklda._inference.evidence.bennett import bennett
from sklda._inference.evidence.combining import student_factor

# The error of the middle between two runs, one in either direction, relative to half their distance (no unit): between
# .1 and .25 on corpora of 2,400 to 600,000 tokens.
_MIDDLE_ERROR = 0.25
# The variance of the mean of the better half of n normal values, times n, over their own: 1.36 for n = 2 and for many.
_HALF = 1.36


@dataclass(eq=False)
class CountEvidence:
    """One number of topics, and its chains with runs.

    Attributes
    ----------
    priors : Priors
    n_sweeps : int
        Length of the runs of `chains`, the longest so far.
    chains : list of Runs
    """

    priors: object
    n_sweeps: int = 0
    chains: list = field(default_factory=list)

    def add(self, chain, n_sweeps):
        """Add a chain with runs of this length, in place of those with shorter ones."""
        if n_sweeps > self.n_sweeps:
            self.n_sweeps, self.chains = n_sweeps, []
        self.chains.append(chain)

    @property
    def values(self):
        """The log evidence by each chain, (n_chains,). A forward run is seldom too high, so it is not below these."""
        return np.array([max(bennett(each.forward, each.backward), each.forward.mean()) for each in self.chains])

    @property
    def run_variance(self):
        """Mean variance of `values` by the runs: of normal log weights, half the distance of the two directions."""
        return np.mean([np.abs(each.backward - each.forward).mean() / (2 * len(each.forward)) for each in self.chains])

    @property
    def pooled(self):
        """The log evidence by the runs of all chains, as if they were one."""
        return bennett(*(np.concatenate([getattr(c, name) for c in self.chains]) for name in ("forward", "backward")))


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """Log evidence by number of topics, with its error.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,)
    value, std : ndarray of shape (n_counts,)
        In nats.
    by_runs, by_chains : ndarray of shape (n_counts,)
        The variance of one chain's value by its runs, and by its mode.
    """

    counts: np.ndarray
    value: np.ndarray
    std: np.ndarray
    by_runs: np.ndarray
    by_chains: np.ndarray

    @classmethod
    def of(cls, by_count):
        """The table of a dict of `CountEvidence` by number of topics, all with runs.

        Two chains do not tell a variance, so neighbouring numbers of topics share theirs. A value is that of all runs
        as far as the runs explain the differences between chains, and otherwise the mean of the better half of the
        chains: worse modes say nothing of p(w).
        """
        counts = sorted(by_count)
        known = [by_count[T] for T in counts]
        values, own = [each.values for each in known], np.array([each.run_variance for each in known])
        freedom = np.array([len(each) - 1 for each in values])
        squares = np.array([((each - each.mean()) ** 2).sum() for each in values])
        rows = []
        for i, each in enumerate(known):
            n, near = len(values[i]), [j for j in range(max(i - 1, 0), min(i + 2, len(known))) if counts[j] > 1]
            if counts[i] == 1 or not freedom[near].sum():
                rows.append((values[i].mean(), 0.0 if counts[i] == 1 else np.inf, 0.0, 0.0))
                continue
            by_runs = max(own[i], own[near].mean())
            spread = squares[near].sum() / freedom[near].sum()
            width = student_factor(freedom[near].sum())
            by_chains = max(spread - by_runs, 0.0)
            share = by_chains / max(spread, by_runs, 1e-300)
            value = (1 - share) * each.pooled + share * np.sort(values[i])[n // 2 :].mean()
            label_error = max(chain.label_error for chain in each.chains)
            variance = (by_runs + width**2 * _HALF * by_chains + (_MIDDLE_ERROR * own[i]) ** 2) / n + label_error**2
            rows.append((value, np.sqrt(variance), by_runs, by_chains))
        return cls(np.array(counts), *np.array(rows).T)
