"""Ranks of true values among posterior draws, and tests that they are uniform.

A true value comes from the prior, and the data from the model at this value. Then its rank among L independent draws
of the posterior is uniform on 0, ..., L (Talts, Betancourt, Simpson, Vehtari & Gelman 2018).
"""

from functools import lru_cache

import numpy as np
from scipy.stats import binom, chi2


def rank(true, draws, rng):
    """Number of draws below the true value; ties are broken at random."""
    draws = np.asarray(draws)
    return int((draws < true).sum() + rng.integers((draws == true).sum() + 1))


def chi_square_p(ranks, n_draws):
    """p-value of Pearson's test with cells of equal probability, in each of which at least ten ranks are expected."""
    n_ranks = n_draws + 1
    cells = max(d for d in range(1, n_ranks + 1) if n_ranks % d == 0 and d <= max(len(ranks) / 10, 2))
    seen = np.bincount(np.asarray(ranks) * cells // n_ranks, minlength=cells)
    return float(chi2.sf(((seen - len(ranks) / cells) ** 2).sum() * cells / len(ranks), cells - 1))


def counts_below(ranks, n_draws):
    """Number of ranks of at most 0, ..., n_draws - 1: the empirical distribution function, times n."""
    return np.cumsum(np.bincount(ranks, minlength=n_draws + 1))[:-1]


def ecdf_p(ranks, n_draws):
    """Exact p-value of the smallest pointwise tail of the empirical distribution function.

    The statistic of Säilynoja, Bürkner & Vehtari (2022), section 2. Its distribution is computed by their recursion.
    """
    n, below = len(ranks), counts_below(ranks, n_draws)
    at = _points(n_draws)
    tail = np.minimum(binom.cdf(below, n, at), binom.sf(below - 1, n, at)).min()
    return float(max(1 - _inside(*_bounds(tail, n, n_draws), n, n_draws), 0.0))


@lru_cache
def bands(n, n_draws, level):
    """Smallest and largest counts of simultaneous bands that uniform ranks leave with a probability of at most `level`.

    Returns
    -------
    lower, upper : ndarray of shape (n_draws,)
        For the values of `counts_below`.
    """
    low, high = level / (4 * n_draws), level
    for _ in range(40):
        middle = np.sqrt(low * high)
        fits = 1 - _inside(*_bounds(middle, n, n_draws), n, n_draws) <= level
        low, high = (middle, high) if fits else (low, middle)
    return _bounds(low, n, n_draws)


def _points(n_draws):
    return np.arange(1, n_draws + 1) / (n_draws + 1)


def _bounds(tail, n, n_draws):
    """The smallest and the largest counts whose tails, themselves included, are larger than `tail`."""
    counts, at = np.arange(n + 1)[:, None], _points(n_draws)
    # Tails that differ by rounding only are the same.
    tail = tail * (1 + 1e-9)
    inside = (binom.cdf(counts, n, at) > tail) & (binom.sf(counts - 1, n, at) > tail)
    # Where no count has such tails, the lower bound is above all counts.
    return np.where(inside.any(axis=0), inside.argmax(axis=0), n + 1), n - inside[::-1].argmax(axis=0)


def _inside(lower, upper, n, n_draws):
    """Probability that uniform ranks keep within the bounds at all points."""
    p, counts = np.eye(1, n + 1)[0], np.arange(n + 1)
    for low, high, transition in zip(lower, upper, _transitions(n, n_draws), strict=True):
        p = p @ transition
        p[(counts < low) | (counts > high)] = 0.0
    return p.sum()


@lru_cache
def _transitions(n, n_draws):
    """For each point, the probabilities of its count given the count at the point before."""
    at, counts = np.append(0.0, _points(n_draws)), np.arange(n + 1)
    steps = np.diff(at) / (1 - at[:-1])
    return [binom.pmf(counts - counts[:, None], n - counts[:, None], step) for step in steps]
