"""The public confidence region."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import chi2


@dataclass(frozen=True, eq=False)
class Ellipse:
    """An elliptic confidence region for the two priors, on the scale of (log alpha, log eta).

    Attributes
    ----------
    center : ndarray of shape (2,)
        (alpha, eta), that is (`doc_topic_prior`, `topic_word_prior`).
    covariance : ndarray of shape (2, 2)
        Covariance of (log alpha, log eta). Infinite along a prior whose maximum lies at an edge of the region searched.
    level : float
        Confidence level.
    kind : {"monte_carlo", "statistical", "total"}
        ``"monte_carlo"``: it covers the maximum of the marginal likelihood, which the draws estimate.
        ``"statistical"``: it covers the priors that generated the corpus, if the maximum is exact. ``"total"``: it
        covers them whether or not it is.
    region : pair of (float, float)
        ((alpha_low, alpha_high), (eta_low, eta_high)) that was searched. `boundary` is cut off there.
    """

    center: np.ndarray
    covariance: np.ndarray
    level: float
    kind: str
    region: tuple[tuple[float, float], tuple[float, float]]

    @property
    def intervals(self) -> np.ndarray:
        """The interval of each prior by itself at this level, (2, 2): the ends of that of alpha, and of that of eta."""
        half = ndtri((1 + self.level) / 2) * self.standard_errors
        # With an infinite error, from zero to infinity.
        with np.errstate(over="ignore"):
            return np.exp(np.log(self.center)[:, None] + half[:, None] * [-1, 1])

    def __repr__(self) -> str:
        priors = zip(("doc_topic_prior", "topic_word_prior"), self.center, self.intervals, strict=True)
        parts = [f"{name} {value:.3g} ({low:.3g} to {high:.3g})" for name, value, (low, high) in priors]
        return f"<{', '.join(parts)}: intervals of {100 * self.level:.0f} %, kind={self.kind!r}>"

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of log alpha and log eta, ndarray of shape (2,): small ones are relative errors."""
        return np.sqrt(np.diag(self.covariance))

    def contains(self, doc_topic_prior: ArrayLike, topic_word_prior: ArrayLike) -> bool | np.ndarray:
        """Whether (alpha, eta) lies inside.

        Parameters
        ----------
        doc_topic_prior, topic_word_prior : float or array-like
            alpha and eta, of shapes that broadcast.

        Returns
        -------
        bool or ndarray of bool
        """
        log_h = np.stack(np.broadcast_arrays(np.log(doc_topic_prior), np.log(topic_word_prior)), axis=-1)
        away = log_h - np.log(self.center)
        finite = np.isfinite(np.diag(self.covariance))
        precision = np.zeros((2, 2))
        precision[np.ix_(finite, finite)] = np.linalg.pinv(self.covariance[np.ix_(finite, finite)])
        inside = np.einsum("...i,ij,...j->...", away, precision, away) <= chi2.ppf(self.level, 2)
        return bool(inside) if np.ndim(inside) == 0 else inside

    def boundary(self, n_points: int = 100) -> np.ndarray:
        """Points (alpha, eta) along the boundary, ndarray of shape (n_points, 2)."""
        covariance = self.covariance.copy()
        for i in np.flatnonzero(~np.isfinite(np.diag(covariance))):
            covariance[i], covariance[:, i] = 0, 0
            # Longer than the region, at which the points are cut.
            covariance[i, i] = np.log(self.region[i][1] / self.region[i][0]) ** 2
        values, vectors = np.linalg.eigh(covariance)
        angles = np.linspace(0, 2 * np.pi, n_points)
        circle = np.stack([np.cos(angles), np.sin(angles)]) * np.sqrt(chi2.ppf(self.level, 2))
        points = np.log(self.center)[:, None] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)
        points = np.exp(points).T
        if not np.isfinite(self.covariance).all():
            points = np.clip(points, *np.array(self.region).T)
        return points
