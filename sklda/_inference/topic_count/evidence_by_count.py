"""What is known of the evidence of each number of topics, and the posterior that follows."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from sklda._inference.evidence import combining as log_mean

# Pilots are compared over this many neighbours on either side, and a variance with fewer degrees of freedom is pooled.
NEIGHBOURS, _ENOUGH = 2, 30
# What short runs fall short by, over what the last doubling of their temperatures gained, and how far off that may be:
# 1.0 to 1.8 were measured on corpora of 2,400 to 600,000 tokens.
_LOST, _DOUBT = 1.4, 0.25
_DRAWS = 4000
_CREDIBLE = 0.95


@dataclass(frozen=True, eq=False)
class Level:
    """What is known about one number of topics.

    Attributes
    ----------
    priors : Priors
    states : list of ChainState
        The pilots'.
    temperatures : int
        Length of the longest runs so far, which the next three are about.
    log_weights : ndarray of shape (n_pilots, n_runs)
    ends : list of ChainState
        Where the runs ended, pilot by pilot.
    left_out : float
    shorter : float
        Log evidence by half as many temperatures; -inf where there were none.
    """

    priors: object
    states: list
    temperatures: int = 0
    log_weights: np.ndarray = None
    ends: tuple = ()
    left_out: float = 0.0
    shorter: float = -np.inf


@dataclass(frozen=True, eq=False)
class Table:
    """Log evidence by number of topics, and its error.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,)
    value, std, shortfall : ndarray of shape (n_counts,)
        As `log_mean.combine` has them.
    common : ndarray of shape (n_counts,)
        The part of `std` that runs of one length have in common.
    """

    counts: np.ndarray
    value: np.ndarray
    std: np.ndarray
    shortfall: np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, levels):
        """From a dict of Level by number of topics, ascending, all with log weights."""
        rows = []
        for level, within, freedom, beside in zip(levels.values(), *variances(levels), strict=True):
            if level.log_weights.shape[1] == 1 and np.isfinite(level.shorter):
                # Short runs are not repeated: what half as many temperatures lost tells what is lost still.
                value, std, _ = log_mean.combine(level.log_weights, 0.0, beside=beside)
                gained = max(value - level.shorter, 0.0)
                shortfall, common = _LOST * gained, _DOUBT * gained
            else:
                pooled = within if freedom else None
                value, std, shortfall = log_mean.combine(level.log_weights, pooled, beside=beside)
                common = within / np.sqrt(2 * freedom) if freedom and shortfall else 0.0
            rows.append((value, np.sqrt(std**2 + common**2 + level.left_out**2), shortfall, common))
        return cls(np.array(list(levels)), *np.array(rows).T)

    @property
    def best(self):
        """Log evidence as it probably is."""
        return self.value + self.shortfall

    @property
    def own(self):
        """The part of `std` that is not common; 0 where `std` is not known."""
        return np.sqrt(np.maximum(np.nan_to_num(self.std) ** 2 - self.common**2, 0))

    def posterior(self, log_prior, seed):
        """Draws of p(T | w) over the errors of the evidence, (n_draws, n_counts), by `log_prior` (n_counts,)."""
        rng, log_posterior = np.random.default_rng(seed), log_prior + self.best
        # Shorter runs have more in common, but were compared with the best when that was as short.
        common = np.minimum(self.common, self.common[np.argmax(log_posterior)])
        noise = self.own * rng.standard_normal((_DRAWS, len(common))) + common * rng.standard_normal((_DRAWS, 1))
        return normalised(log_posterior + noise)


def variances(levels):
    """For each number of topics: variance between runs, degrees of freedom shared with others, neighbours' pilots.

    Few runs share what is known with others of their length: variance grows as a power of T. Pilots differ by as
    much as those of their neighbours. One topic leaves nothing to chance, and says nothing of others.
    """
    counts, levels = np.array(list(levels)), list(levels.values())
    log_weights = [log_mean.that_count(level.log_weights) for level in levels]
    length = np.array([level.temperatures for level in levels])
    repeated = np.array([each.shape[1] > 1 for each in log_weights])
    within, freedom, beside = np.zeros(len(counts)), np.zeros(len(counts)), []
    for n in np.unique(length):
        here = np.flatnonzero((length == n) & repeated & (counts > 1))
        if len(here):
            own = np.array([log_weights[i].var(axis=1, ddof=1).mean() for i in here])
            free = np.array([log_weights[i].size - len(log_weights[i]) for i in here])
            few = free < _ENOUGH
            within[here] = np.where(few, _power_law(counts[here], own, free), own)
            freedom[here] = np.where(few, free.sum(), 0)
    for i, T in enumerate(counts):
        near = [j for j in range(i - NEIGHBOURS, i + NEIGHBOURS + 1) if 0 <= j < len(counts) and j != i]
        beside.append([log_mean.pilots(log_weights[j]) for j in near if min(T, counts[j]) > 1])
    return within, freedom, beside


def _power_law(counts, variances, freedom):
    """Variances as a power of the number of topics, by least squares on logarithms; the exponent leans to 1."""
    x, y = np.log(counts), np.log(np.maximum(variances, 1e-12))
    weight = freedom / freedom.sum()
    dx, dy = x - weight @ x, y - weight @ y
    # The logarithm of a variance with f degrees of freedom has variance 2 / f; the exponent, 1 give or take 1.
    precision = freedom / 2
    slope = (1 + (precision * dx) @ dy) / (1 + (precision * dx) @ dx)
    law = np.exp(slope * dx)
    return law * (weight @ variances) / (weight @ law)


def normalised(log_weights):
    """Weights that sum to one over the last axis."""
    return np.exp(log_weights - logsumexp(log_weights, axis=-1, keepdims=True))


def deviation(draws):
    """Standard errors of the mean of `draws` over the first axis, of which two reach as far as 0.95 of the draws do.

    A small probability of which little is known may be large: its draws reach farther up than twice their deviation.
    """
    mean, (low, high) = draws.mean(axis=0), np.quantile(draws, ndtr([-2, 2]), axis=0)
    return np.maximum(draws.std(axis=0), np.maximum(mean - low, high - mean) / 2)


def credible_interval(counts, posterior):
    """Smallest and largest count after at most 0.025 is cut from either end."""
    tail = (1 - _CREDIBLE) / 2
    low = np.argmax(np.cumsum(posterior) > tail)
    high = len(counts) - 1 - np.argmax(np.cumsum(posterior[::-1]) > tail)
    return int(counts[low]), int(counts[high])
