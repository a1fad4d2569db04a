"""Errors of sums over the draws of chains, by batch means."""

import itertools
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import chi2

# The variance between chains is scaled so that it lies below the true one with this probability.
_BELOW_TRUE = 0.75


@dataclass(frozen=True, eq=False)
class Batches:
    """Parts of chains, in the order of the draws; each array has the shape (n_batches,)."""

    lengths: np.ndarray  # numbers of draws
    chains: np.ndarray  # the chain of each batch
    kinds: np.ndarray  # batches of one kind have draws from the same distribution

    @classmethod
    def of_chains(cls, lengths: list[int]) -> Self:
        """Batches of n^(3/4) of n draws of each chain on (h, z): autocorrelation is long. The paper has n^(1/2)."""
        counts = [max(round(n ** (1 / 4)), 1) for n in lengths]
        chains = np.repeat(np.arange(len(lengths)), counts)
        parts = [_parts(n, count) for n, count in zip(lengths, counts, strict=True)]
        return cls(lengths=np.concatenate(parts), chains=chains, kinds=chains)

    @classmethod
    def of_visits(cls, at: list[np.ndarray], n_parts: int) -> Self:
        """Visits of fixed points, in `n_parts` parts each. `at` has the points of the draws of every chain, a list."""
        lengths: list = []
        chains: list = []
        kinds: list = []
        for c, own in enumerate(at):
            ends = [0, *np.flatnonzero(np.diff(own)) + 1, len(own)]
            for first, end in itertools.pairwise(ends):
                parts = _parts(end - first, min(n_parts, end - first))
                lengths.extend(parts)
                chains.extend([c] * len(parts))
                kinds.extend([own[first]] * len(parts))
        return cls(lengths=np.array(lengths), chains=np.array(chains), kinds=np.array(kinds))

    @property
    def of_chain(self):
        """Number of draws of every chain, (n_chains,)."""
        return np.bincount(self.chains, self.lengths).astype(int)

    @property
    def freedom(self) -> int:
        """Batches less kinds."""
        return max(len(self.kinds) - len(np.unique(self.kinds)), 1)

    def sums(self, terms):
        """Sums over batches minus the mean of their kind, scaled so that their squares add up to a variance."""
        sums = np.add.reduceat(terms, np.cumsum([0, *self.lengths[:-1]]), axis=0)
        _, at, n = np.unique(self.kinds, return_inverse=True, return_counts=True)
        total = np.zeros((len(n), *sums.shape[1:]))
        np.add.at(total, at, sums)
        return (sums - (total / n[:, None])[at]) * np.sqrt(n / np.maximum(n - 1, 1))[at, None]

    def chain_sums(self, terms):
        """Sums over chains minus their mean, (n_chains, n)."""
        sums = np.add.reduceat(terms, np.cumsum([0, *self.of_chain[:-1]]), axis=0)
        return sums - sums.mean(axis=0)

    def variance(self, terms):
        """Variance of the sums of `terms` (n_draws, n), (n,): that of batches, or that between chains if larger."""
        within = (self.sums(terms) ** 2).sum(axis=0)
        between = (self._scaled_chain_sums(terms) ** 2).sum(axis=0)
        return np.maximum(within, between)

    def covariance(self, terms):
        """The same for vectors, (n, n)."""
        within, between = (sums.T @ sums for sums in (self.sums(terms), self._scaled_chain_sums(terms)))
        # In directions in which chains differ by more than their batches explain, the variance is that between chains.
        return within + positive_part(between - within)

    def _scaled_chain_sums(self, terms):
        n = len(self.of_chain)
        return self.chain_sums(terms) * np.sqrt(n / chi2.ppf(_BELOW_TRUE, max(n - 1, 1)))


def _parts(n, n_parts):
    """Lengths of about equal parts of n draws."""
    return np.diff(np.linspace(0, n, n_parts + 1).astype(int))


def at_most(matrix, largest):
    """A covariance without what exceeds another one: in no direction has it a larger variance, (n, n)."""
    values, vectors = np.linalg.eigh(largest)
    # A direction in which the other one is zero has the rounding error of the largest.
    scale = np.sqrt(np.maximum(values, max(np.finfo(float).eps * values.max(), np.finfo(float).tiny)))
    to_unit = vectors / scale
    shares, directions = np.linalg.eigh(to_unit.T @ matrix @ to_unit)
    back = (vectors * scale) @ directions
    return (back * np.minimum(shares, 1.0)) @ back.T


def positive_part(matrix):
    """A symmetric matrix without its negative directions."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T
