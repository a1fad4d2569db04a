"""Linear models of drawn topic proportions, pooled over the draws: the method of composition.

A draw of theta stands for proportions that were observed. The posterior of the coefficients given this draw is a
t-distribution, and the posterior given the words is the mean of these distributions over the draws.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr, stdtrit

# Steps of the bisection for a quantile: the bracket shrinks by 2^40.
_STEPS = 40


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models of topic proportions, one for each draw and topic.

    Attributes
    ----------
    coefficients : ndarray of shape (n_draws, n_terms, n_topics)
        Least squares.
    variances : ndarray of shape (n_draws, n_topics)
        Of the residuals. NaN: this draw has no such topic.
    root : ndarray of shape (n_terms, n_terms)
        A root of the inverse of the matrix of squares and products of the terms.
    n_free : int
        Documents less terms.
    """

    coefficients: np.ndarray
    variances: np.ndarray
    root: np.ndarray
    n_free: int

    @classmethod
    def fit(cls, matrix, draws):
        """Least squares for each draw.

        Parameters
        ----------
        matrix : ndarray of shape (n_documents, n_terms)
            Of full rank.
        draws : iterable of ndarray of shape (n_documents, n_topics)
            Topic proportions; columns of NaN are topics that a draw does not have.
        """
        q, r = np.linalg.qr(matrix)
        n_free = len(matrix) - matrix.shape[1]
        coefficients, variances = [], []
        for theta in draws:
            projected = q.T @ theta
            coefficients.append(solve_triangular(r, projected, check_finite=False))
            variances.append(((theta - q @ projected) ** 2).sum(axis=0) / n_free)
        root = solve_triangular(r, np.eye(len(r)))
        return cls(np.array(coefficients), np.array(variances), root, n_free)

    def summary(self, combinations, level):
        """Posterior of linear combinations of the coefficients.

        Parameters
        ----------
        combinations : ndarray of shape (n_combinations, n_terms)
        level : float
            Probability of the interval.

        Returns
        -------
        estimate, error, low, high : ndarray of shape (n_combinations, n_topics)
            Mean, standard deviation, and quantiles of the mixture over draws.
        """
        # A topic that is in no draw has no effects.
        known = ~np.isnan(self.coefficients).any(axis=1).all(axis=0)
        found = np.full((4, len(combinations), len(known)), np.nan)
        if known.any():
            found[:, :, known] = self._of_known(combinations, level, known)
        return tuple(found)

    def _of_known(self, combinations, level, known):
        """`summary` of the topics `known`, each of which is in a draw."""
        centres = np.einsum("cp,spk->sck", combinations, self.coefficients[:, :, known])
        lengths = np.sqrt(((combinations @ self.root) ** 2).sum(axis=1))
        scales = np.sqrt(self.variances[:, known])[:, None, :] * lengths[:, None]
        estimate = np.nanmean(centres, axis=0)
        # A t-distribution with at most two degrees of freedom has no variance.
        inflation = self.n_free / (self.n_free - 2) if self.n_free > 2 else np.nan
        error = np.sqrt(inflation * np.nanmean(scales**2, axis=0) + np.nanvar(centres, axis=0))
        return estimate, error, *(self._quantile(centres, scales, p) for p in ((1 - level) / 2, (1 + level) / 2))

    def _quantile(self, centres, scales, p):
        """The quantile p of the mixture, which lies between the smallest and the largest of the components."""
        own = centres + scales * stdtrit(self.n_free, p)
        low, high = np.nanmin(own, axis=0), np.nanmax(own, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(_STEPS):
                middle = (low + high) / 2
                # Without a residual, a component is a point.
                z = np.where(scales > 0, (middle - centres) / scales, np.copysign(np.inf, middle - centres))
                z = np.where(np.isnan(centres), np.nan, z)
                below = np.nanmean(stdtr(self.n_free, z), axis=0) < p
                low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


def collinear(matrix):
    """The first column that is a combination of those before it; None if there is none."""
    size = np.sqrt((matrix**2).sum(axis=0))
    scaled = matrix / np.where(size > 0, size, 1)
    if np.linalg.matrix_rank(scaled) == matrix.shape[1]:
        return None
    # Distances of the columns from the space of those before them. Rounding is that of `matrix_rank`.
    distance = np.abs(np.diagonal(np.linalg.qr(scaled, mode="r")))
    bad = distance <= np.sqrt(matrix.shape[1]) * max(matrix.shape) * np.finfo(np.float64).eps
    return int(np.argmax(bad)) if bad.any() else int(np.argmin(distance))
