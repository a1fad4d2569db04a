"""Variances of sums over the draws of chains, by batches."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

# Long batches have this many times the length of short ones (Vats & Flegal 2022).
_LUGSAIL = 3
# The variance between chains is scaled so that it lies below the true one with this probability.
_BELOW_TRUE = 0.75


@dataclass(frozen=True, eq=False)
class Batches:
    """Parts of chains, in the order of the draws, and what they have in common.

    Attributes
    ----------
    lengths : ndarray of shape (n_batches,)
    points : ndarray of shape (n_batches,)
        Batches with the same number have draws from the same distribution.
    """

    lengths: np.ndarray
    points: np.ndarray

    @property
    def freedom(self):
        """Batches less distributions."""
        return max(len(self.points) - len(np.unique(self.points)), 1)

    def sums(self, terms):
        """Sums over batches minus their mean at the point, scaled so that their squares add up to a variance."""
        sums = np.add.reduceat(terms, np.cumsum([0, *self.lengths[:-1]]), axis=0)
        _, at, n = np.unique(self.points, return_inverse=True, return_counts=True)
        total = np.zeros((len(n), sums.shape[1]))
        np.add.at(total, at, sums)
        return (sums - (total / n[:, None])[at]) * np.sqrt(n / np.maximum(n - 1, 1))[at, None]


def n_batches(n_draws):
    """Batches of one chain, for batch means."""
    return max(round(n_draws ** (1 / 3)), 1)


def variance_of_sums(terms, lengths):
    """Variance of the sum over draws of `terms` (n_draws, n), one chain after the other, by batch means; (n,).

    Batch means give too small a variance if autocorrelation is longer than a batch. Their difference from batch means
    of a third of the length is added (the lugsail estimator of Vats & Flegal 2022), which changes the sign of the
    leading term of that bias. The variance between chains, scaled to be too large in one case of four, is used if it is
    larger.
    """
    long, short = ((batch_sums(terms, lengths, part) ** 2).sum(axis=0) for part in (1, _LUGSAIL))
    return np.maximum(long + np.maximum(long - short, 0), (chain_sums(terms, lengths) ** 2).sum(axis=0))


def covariance_of_sums(terms, lengths):
    """The same for vectors, (n, n)."""
    long, short = (sums.T @ sums for sums in (batch_sums(terms, lengths, part) for part in (1, _LUGSAIL)))
    within, between = long + positive_part(long - short), chain_sums(terms, lengths)
    return within + positive_part(between.T @ between - within)


def positive_part(matrix):
    """A symmetric matrix without its negative directions."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def chain_sums(terms, lengths):
    """Sums over chains minus their mean, scaled so that their squares add up to a variance that is rarely too large."""
    n = len(lengths)
    if n < 2:
        return np.zeros((1, *terms.shape[1:]))
    sums = np.add.reduceat(terms, np.cumsum([0, *lengths[:-1]]), axis=0)
    return (sums - sums.mean(axis=0)) * np.sqrt(n / chi2.ppf(_BELOW_TRUE, n - 1))


def batch_sums(terms, lengths, part):
    """Sums over batches minus their mean in the chain, scaled so that their squares add up to a variance.

    Batches have n^(2/3) of n draws, longer than the paper's n^(1/2), because chains on (h, z) have long
    autocorrelation; or a part of that length. All draws are used.
    """
    result, first = [], 0
    for length in lengths:
        n = min(part * n_batches(length), length)
        starts = np.array([part[0] for part in np.array_split(np.arange(first, first + length), n)])
        sums = np.add.reduceat(terms[: first + length], starts, axis=0)
        result.append((sums - sums.mean(axis=0)) * np.sqrt(n / max(n - 1, 1)))
        first += length
    return np.concatenate(result)
