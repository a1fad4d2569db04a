"""The log evidence of one or several numbers of topics and its standard error, from the chains that had runs there."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri, stdtrit

from sklda._likelihood.held_out.averages import bennett

# A value is much worse than another one if it is below it by as many standard errors, and as many nats.
MUCH_WORSE = 5.0
# Values of chains with a smaller variance, in nats squared, are of runs that are long enough, and not of other modes.
LITTLE = 2.0
# The error of the middle between two runs, one in either direction, relative to half their distance (no unit): between
# .1 and .25 on corpora of 2,400 to 600,000 tokens.
_MIDDLE_ERROR = 0.25
# The variance of the mean of the better half of n normal values, times n, over their own: 1.36 for n = 2 and for many.
_HALF = 1.36
# Standard errors are made wider, by Student's law, so that two of them have this coverage.
_COVERAGE = 0.95
# Degrees of freedom that neighbouring numbers of topics add to a variance. With all of theirs, 20 topics of a simulated
# corpus were not told from 21: chains at 19 differ by 700 nats, those at 20 and 21 by 50.
_FREEDOM_OF_NEIGHBOURS = 2
# The mean of the median of five squares of standard normal values.
_MEDIAN_SQUARE = 0.6


@dataclass(eq=False)
class CountEvidence:
    """One number of topics, and its chains with runs."""

    n_sweeps: int = 0  # length of the longest runs
    chains: list = field(default_factory=list)  # of `Runs`

    def add(self, chain, n_sweeps):
        """Add a chain with runs of this length."""
        self.n_sweeps = max(self.n_sweeps, n_sweeps)
        self.chains.append(chain)

    @property
    def values(self):
        """The log evidence by each chain, (n_chains,)."""
        return np.array([each.log_evidence for each in self.chains])

    @property
    def run_variance(self):
        """Mean variance of `values` by the runs: of normal log weights, half the distance of the two directions."""
        return np.mean([np.abs(each.backward - each.forward).mean() / (2 * len(each.forward)) for each in self.chains])

    def pooled(self, variance):
        """The log evidence by the runs of all chains, as if they were one, without those in much worse modes."""
        values = self.values
        near = np.flatnonzero(values >= np.median(values) - MUCH_WORSE * np.sqrt(variance))
        directions = [(self.chains[c].forward, self.chains[c].backward) for c in near]
        forward, backward = (np.concatenate(each) for each in zip(*directions, strict=True))
        return bennett(forward, backward)


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """Log evidence by number of topics, with its error; each array has the shape (n_counts,)."""

    counts: np.ndarray
    value: np.ndarray  # in nats
    std: np.ndarray
    # The part of the standard error that all numbers of topics have in common: it comes from the same path. It is not
    # in `std`.
    common: np.ndarray

    @classmethod
    def of(cls, by_count):
        """The table of a dict of `CountEvidence` by number of topics, all with runs.

        Two chains do not tell a variance, so those of two numbers of topics on either side help. If chains differ
        little, the value is that of all their runs in both directions, and its variance that between chains or by the
        runs, whichever is larger. Otherwise this is the value as far as the runs explain the differences between
        chains. As far as they do not, it is the mean of the better half of the chains, because worse modes say nothing
        of p(w). The error is infinite if one chain is all that is known.
        """
        counts = sorted(by_count)
        known = [by_count[T] for T in counts]
        values = [each.values for each in known]
        own = np.array([each.run_variance for each in known])
        spread, freedom = _pooled(counts, values, by_better_half=True)
        variances, _ = _pooled(counts, values)
        rows = []
        for i, each in enumerate(known):
            n, T = len(values[i]), counts[i]
            label_error = max(chain.label_error for chain in each.chains)
            if T == 1 or not freedom[i]:
                rows.append((values[i].mean(), 0.0 if T == 1 else np.inf, 0.0))
            elif (little := max(variances[i], own[i])) < LITTLE:
                variance = _student_factor(freedom[i]) ** 2 * little
                rows.append((each.pooled(little), np.sqrt(variance / n + label_error**2), 0.0))
            else:
                by_runs = max(own[i], own[max(i - 1, 0) : i + 2].mean())
                by_chains = max(spread[i] - by_runs, 0.0)
                # The runs do not explain worse modes of chains whose better half is equal.
                share = by_chains / max(spread[i], by_runs) if max(spread[i], by_runs) > 0 else 1.0
                value = (1 - share) * each.pooled(max(spread[i], by_runs)) + share * np.sort(values[i])[n // 2 :].mean()
                variance = by_runs + _student_factor(freedom[i]) ** 2 * _HALF * by_chains
                common = _MIDDLE_ERROR * own[i]
                rows.append((value, np.sqrt(variance / n + label_error**2), common))
        value, std, common = np.array(rows).T
        return cls(counts=np.array(counts), value=value, std=std, common=common)


def _pooled(counts, values, *, by_better_half=False):
    """The variance of the values at each number of topics, and its degrees of freedom.

    The median of it and those of two numbers of topics on either side counts as `_FREEDOM_OF_NEIGHBOURS` in addition:
    chains may be in one mode at T, and in very different ones at T - 1. With `by_better_half`, the worse half of four
    values or more does not count: it says how bad modes can be, but not where the best is.
    """
    # The variance of the better half of many normal values over that of all.
    of_half, rows = 1 - 2 / np.pi, []
    for T, each in zip(counts, values, strict=True):
        n = len(each) if T > 1 else 1
        halved = by_better_half and n > 3
        part = np.sort(each)[n // 2 :] if halved else each
        rows.append((part.var() * len(part) / (of_half if halved else 1), len(part) - 1 if T > 1 else 0))
    squares, freedom = np.array(rows).T
    if len(counts) == 1:
        return squares / np.maximum(freedom, 1), freedom
    each, known = squares / np.maximum(freedom, 1), freedom > 0
    near = [slice(max(i - 2, 0), i + 3) for i in range(len(counts))]
    typical = np.array([np.median(each[at][known[at]]) if known[at].any() else 0.0 for at in near]) / _MEDIAN_SQUARE
    shared = _FREEDOM_OF_NEIGHBOURS * np.array([known[at].any() for at in near])
    return (squares + shared * typical) / np.maximum(freedom + shared, 1), freedom + shared


def _student_factor(freedom):
    """Width of a Student interval with this many degrees of freedom over that of the normal interval."""
    p = (1 + _COVERAGE) / 2
    return stdtrit(freedom, p) / ndtri(p)
