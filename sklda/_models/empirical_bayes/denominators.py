"""The denominators of an estimate of m(h): the density of the distribution that its draws come from.

The draws are at the points of a grid (serial tempering, full Bayes) or at a few fixed points (a skeleton).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax


def mixture_denominators(draws, grid):
    """log of (1 / J) sum_j p(w, z_i | h_j) / zeta_j: equation 2.10."""
    doc, word = draws.doc_part(grid.alphas), draws.word_part(grid.etas)
    log_p = (logsumexp(doc[i][:, None] + word[i] - grid.log_zeta) for i in range(len(draws)))
    return np.fromiter(log_p, float, len(draws)) - np.log(grid.log_zeta.size)


def component_denominators(draws, grid, at):
    """log of p(w, z_i | h_j) / zeta_j at the draw's own grid point j: equation 2.17."""
    rows, (i, j) = np.arange(len(draws)), np.asarray(at).T
    return draws.doc_part(grid.alphas)[rows, i] + draws.word_part(grid.etas)[rows, j] - grid.log_zeta[i, j]


def conditional_means(draws, grid):
    """Means of the full conditional of the grid point given every draw.

    Returns
    -------
    occupancy : ndarray of shape (n_alphas, n_etas)
        Its mean over the draws.
    log_h : ndarray of shape (n_draws, 2)
        Means of log alpha and log eta under it.
    """
    doc, word = draws.doc_part(grid.alphas), draws.word_part(grid.etas)
    occupancy, log_h = np.zeros(grid.shape), np.empty((len(draws), 2))
    for i in range(len(draws)):
        p = softmax(doc[i][:, None] + word[i] - grid.log_zeta)
        occupancy += p / len(draws)
        log_h[i] = p.sum(axis=1) @ np.log(grid.alphas), p.sum(axis=0) @ np.log(grid.etas)
    return occupancy, log_h


@dataclass(frozen=True, eq=False)
class ReverseLogisticRegression:
    """The distribution of draws at fixed points, with zeta at its fixed point on the same draws.

    Attributes
    ----------
    log_denominators : ndarray of shape (n_draws,)
        log of sum_j s_j p(w, z_i | h_j) / zeta_j, where s_j is the share of the draws at point j.
    members : ndarray of shape (n_draws, n_points)
        Probability of point j given draw i. Their sums over draws are the numbers of draws at the points.
    """

    log_denominators: np.ndarray
    members: np.ndarray

    @classmethod
    def of(cls, log_p, at):
        """From log p(w, z_i | h_j), (n_draws, n_points), and the point of each draw.

        log zeta_j = log mean_i p(w, z_i | h_j) / d_i (Geyer 1994; Buta & Doss 2011) maximises a concave function. The
        steps are those of Newton where the points overlap, and of the fixed point otherwise. They end when the numbers
        of draws at the points are right to ten digits, or after 500.
        """
        used, n_at = np.unique(at, return_counts=True)
        log_p, log_shares = log_p[:, used], np.log(n_at / len(at))
        log_zeta = log_p.mean(axis=0)
        for _ in range(500):
            log_terms = log_p - log_zeta + log_shares
            log_d = logsumexp(log_terms, axis=1)
            found = cls(log_d, np.exp(log_terms - log_d[:, None]))
            sums = found.members.sum(axis=0)
            if np.abs(sums - n_at).max() < 1e-10 * len(log_p):
                break
            step = found._slope @ (sums - n_at)
            log_zeta = log_zeta + (step if np.abs(step).max() < 1 else np.log(sums / n_at))
        return found

    @cached_property
    def _slope(self):
        """Change of log zeta for a change of the sums of `members`."""
        laplacian = np.diag(self.members.sum(axis=0)) - self.members.T @ self.members
        return np.linalg.pinv(laplacian, hermitian=True)

    def influences(self, terms):
        """`terms` (n_draws, n), whose columns add up to zero, plus the effect of each draw through log zeta."""
        return terms + self.members @ (self._slope @ (self.members.T @ terms))
