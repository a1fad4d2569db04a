"""The distribution of draws: a mixture over the points of a grid (serial tempering), or over a few fixed points."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax

# Size of arrays over draws and values of h: 32 MB each.
_AT_A_TIME = 2**22
# log zeta: largest number of steps, and of the error of a share of the draws.
_MOST_STEPS, _CLOSE = 500, 1e-10


def mixture_denominators(draws, grid):
    """log of (1 / J) sum_j p(w, z_i | h_j) / zeta_j: equation 2.10."""
    word, doc = draws.word_part(grid.etas), draws.doc_part(grid.alphas)
    if grid.flat:
        return logsumexp(word, axis=1) + logsumexp(doc, axis=1) - grid.log_zeta.ravel()[0] - np.log(grid.log_zeta.size)
    result = np.empty(len(draws))
    for part in slices(len(draws), grid.log_zeta.size):
        log_p = word[part, :, None] + doc[part, None, :] - grid.log_zeta
        result[part] = logsumexp(log_p, axis=(1, 2))
    return result - np.log(grid.log_zeta.size)


def conditional_means(draws, grid):
    """Means of the full conditional of the grid point given every draw.

    Returns
    -------
    occupancy : ndarray of shape (n_etas, n_alphas)
        Its mean over the draws.
    log_h : ndarray of shape (n_draws, 2)
        Means of log eta and log alpha under it.
    """
    word, doc = draws.word_part(grid.etas), draws.doc_part(grid.alphas)
    if grid.flat:
        word, doc = softmax(word, axis=1), softmax(doc, axis=1)
        return np.einsum("ni,nj->ij", word, doc) / len(draws), np.stack(
            [word @ np.log(grid.etas), doc @ np.log(grid.alphas)], axis=1
        )
    occupancy, log_h = np.zeros(grid.shape), np.empty((len(draws), 2))
    for part in slices(len(draws), grid.log_zeta.size):
        p = word[part, :, None] + doc[part, None, :] - grid.log_zeta
        p = np.exp(p - p.max(axis=(1, 2), keepdims=True))
        p /= p.sum(axis=(1, 2), keepdims=True)
        occupancy += p.sum(axis=0) / len(draws)
        log_h[part] = np.stack([p.sum(axis=2) @ np.log(grid.etas), p.sum(axis=1) @ np.log(grid.alphas)], axis=1)
    return occupancy, log_h


def component_denominators(draws, grid, at):
    """log of p(w, z_i | h_j) / zeta_j at the draw's own grid point j: equation 2.17."""
    i, j = np.asarray(at).T
    rows = np.arange(len(draws))
    return draws.word_part(grid.etas)[rows, i] + draws.doc_part(grid.alphas)[rows, j] - grid.log_zeta[i, j]


@dataclass(frozen=True, eq=False)
class Mixture:
    """The distribution of draws at fixed points, with zeta at its fixed point on the same draws.

    Attributes
    ----------
    log_denominators : ndarray of shape (n_draws,)
        log of sum_j s_j p(w, z_i | h_j) / zeta_j, where s_j is the share of the draws at point j.
    members : ndarray of shape (n_draws, n_points)
        Probability of point j given draw i. Their sums over draws are the numbers of draws at the points.
    weights : ndarray of shape (n_draws,)
        Weights of the draws, whose mean is 1.
    """

    log_denominators: np.ndarray
    members: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, log_p, at, weights):
        """From log p(w, z_i | h_j), (n_draws, n_points), the point of each draw, and its weight.

        log zeta_j = log mean_i p(w, z_i | h_j) / d_i (Geyer 1994; Buta & Doss 2011) maximises a concave function. The
        steps are those of Newton where the points overlap, and of the fixed point otherwise.
        """
        used, at = np.unique(at, return_inverse=True)
        n_at = np.bincount(at, weights)
        log_p, log_shares = log_p[:, used], np.log(n_at / n_at.sum())
        log_zeta = log_p.mean(axis=0)
        for _ in range(_MOST_STEPS):
            log_terms = log_p - log_zeta + log_shares
            log_d = logsumexp(log_terms, axis=1)
            found = cls(log_d, np.exp(log_terms - log_d[:, None]), weights)
            sums = weights @ found.members
            if np.abs(sums - n_at).max() < _CLOSE * len(log_p):
                break
            step = found.slope @ (sums - n_at)
            log_zeta = log_zeta + (step if np.abs(step).max() < 1 else np.log(sums / n_at))
        return found

    @cached_property
    def slope(self):
        """Change of log zeta for a change of the sums of `members`."""
        laplacian = np.diag(self.weights @ self.members) - self.members.T @ (self.weights[:, None] * self.members)
        return np.linalg.pinv(laplacian, hermitian=True)

    def influences(self, terms):
        """`terms` (n_draws, n), whose columns add up to zero, plus the effect of each draw through log zeta."""
        return terms + self.weights[:, None] * (self.members @ (self.slope @ (self.members.T @ terms)))


def slices(n, size):
    """Parts of n draws, so that arrays over the draws of a part and `size` values of h are not too large."""
    step = max(_AT_A_TIME // max(size, 1), 1)
    return [slice(start, start + step) for start in range(0, n, step)]
