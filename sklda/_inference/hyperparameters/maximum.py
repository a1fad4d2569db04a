"""Where an estimate of m(h) is largest, how sure that is, and confidence regions for it."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from sklda._inference.hyperparameters.marginal_likelihood import covariance_of_sums

# The names of the two priors, in the order of h.
NAMES = ("topic_word_prior", "doc_topic_prior")
# A maximum cannot be told from an edge that is less than this lower, nats, or than this many standard errors.
_TOLD, _ERRORS = 0.01, 2.0


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maximum of an estimate of m(h).

    Attributes
    ----------
    log_h : ndarray of shape (2,)
        (log eta, log alpha).
    monte_carlo : ndarray of shape (2, 2)
        Covariance of `log_h` as an estimate of the maximum of m(h).
    statistical : ndarray of shape (2, 2)
        Inverse of minus the second derivatives of log m.
    score, hessian : ndarray of shape (2, 2)
        Covariance of the estimated first derivatives of log m at `log_h`, and the second derivatives.
    edges : dict of {int: {"lower", "upper"}}
        Which of the two lies at an edge of what was searched, or cannot be told from it.

    Along a prior at an edge, or along which log m is not concave, both covariances are infinite.
    """

    log_h: np.ndarray
    monte_carlo: np.ndarray
    statistical: np.ndarray
    score: np.ndarray
    hessian: np.ndarray
    edges: dict

    @property
    def h(self):
        """(eta, alpha), two floats."""
        return tuple(float(x) for x in np.exp(self.log_h))

    @property
    def interior(self):
        """Which of the two have finite errors, (2,)."""
        return np.isfinite(np.diag(self.statistical))

    def in_doubt(self, covariance):
        """With a covariance of log h added to the Monte Carlo one."""
        return replace(self, monte_carlo=self.monte_carlo + covariance * np.outer(self.interior, self.interior))

    @property
    def share(self):
        """The Monte Carlo error by the statistical one, of the prior for which that is larger; infinite if of none."""
        inside = self.interior
        shares = np.diag(self.monte_carlo)[inside] / np.diag(self.statistical)[inside]
        return float(np.sqrt(shares.max(initial=0))) if inside.any() else np.inf


def maximum_of(curve, region):
    """Find the maximum of a `Curve` on a region.

    Parameters
    ----------
    curve : Curve
    region : pair of pairs of float

    Returns
    -------
    Maximum
    """
    log_h = curve.maximise(region)
    weights, gradients = curve.derivatives(log_h)
    score = covariance_of_sums(weights[:, None] * (gradients - weights @ gradients), curve.lengths)
    edges, hessian = _edges(curve, log_h, region), _hessian(curve, log_h, region)
    return Maximum(log_h, *covariances(score, hessian, edges), score, hessian, edges)


def _hessian(curve, log_h, region, n_points=41):
    """Second derivatives of log m, as differences over one standard deviation of h under a density proportional to m.

    At one point they are a small difference of two large means, which few draws tell badly.
    """
    axes = [np.linspace(*ends, n_points) for ends in np.log(region)]
    density = curve.surface(*np.exp(axes))
    density = np.exp(density - density.max())
    density /= density.sum()
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=2).reshape(-1, 2)
    covariance = np.atleast_2d(np.cov(points.T, aweights=density.ravel(), ddof=0))
    # Not less than the spacing.
    least = [(axis[1] - axis[0]) ** 2 / 12 for axis in axes]
    values, vectors = np.linalg.eigh(covariance + np.diag(least))
    steps = vectors * np.sqrt(values)
    signs = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
    f = curve.log_values(*np.exp(log_h + signs @ steps.T).T)
    cross = (f[5] + f[6] - f[7] - f[8]) / 4
    second = np.array([[f[1] + f[2] - 2 * f[0], cross], [cross, f[3] + f[4] - 2 * f[0]]])
    back = np.linalg.inv(steps)
    return back.T @ second @ back


def covariances(score, hessian, edges):
    """Monte Carlo and statistical covariance of log h, infinite along edges and where log m is not concave."""
    inside = np.array([axis not in edges and hessian[axis, axis] < 0 for axis in range(2)])
    if inside.all() and np.linalg.det(hessian) <= 0:
        inside[np.argmax(np.diag(hessian))] = False
    monte_carlo, statistical = np.zeros((2, 2)), np.zeros((2, 2))
    block = np.ix_(inside, inside)
    statistical[block] = np.linalg.inv(-hessian[block])
    monte_carlo[block] = statistical[block] @ score[block] @ statistical[block]
    for axis in np.flatnonzero(~inside):
        monte_carlo[axis, axis] = statistical[axis, axis] = np.inf
    return monte_carlo, statistical


def _edges(curve, log_h, region):
    edges = {}
    for axis in range(2):
        for side, name in enumerate(("lower", "upper")):
            there = np.exp(log_h)
            there[axis] = region[axis][side]
            value, std = (x[0] for x in curve.log_ratio(*there[:, None], np.exp(log_h)))
            if value >= -max(_TOLD, _ERRORS * std if np.isfinite(std) else 0.0):
                edges[axis] = name
    return edges


def refine(maximum, gradients, score, region):
    """Take in draws made at the maximum: one Newton step on the simple estimator, equation 2.1.

    The first derivatives of log m at the maximum are zero by the curve and `gradients` by the draws; both are weighed
    by their precisions.

    Parameters
    ----------
    maximum : Maximum
    gradients : ndarray of shape (2,)
        Mean over the draws of the derivatives of log p(w, z | h).
    score : ndarray of shape (2, 2)
        Its covariance.
    region : pair of pairs of float
        What was searched: log m is no parabola as far away as a step beyond it would go, and the maximum stays.

    Returns
    -------
    Maximum
    """
    inside = maximum.interior
    if not inside.any():
        return maximum
    block = np.ix_(inside, inside)
    share = maximum.score[block] @ np.linalg.pinv(maximum.score[block] + score[block])
    log_h, together = maximum.log_h.copy(), maximum.score.copy()
    log_h[inside] += maximum.statistical[block] @ share @ gradients[inside]
    low, high = np.log(region).T
    if (log_h < low).any() or (log_h > high).any():
        return maximum
    together[block] = share @ score[block]
    monte_carlo, statistical = covariances(together, maximum.hessian, maximum.edges)
    return Maximum(log_h, monte_carlo, statistical, together, maximum.hessian, maximum.edges)


@dataclass(frozen=True, eq=False)
class Ellipse:
    """An elliptic confidence region for h = (eta, alpha) on the scale of (log eta, log alpha).

    Attributes
    ----------
    center : ndarray of shape (2,)
        (eta, alpha).
    covariance : ndarray of shape (2, 2)
        Of (log eta, log alpha). Infinite along a prior whose maximum lies at an edge of the region looked at.
    level : float
        Confidence level.
    kind : {"monte_carlo", "statistical"}
        Whether it covers the maximum of m(h), which the draws estimate, or the h that generated the corpus.
    region : pair of pairs of float
        ((eta_low, eta_high), (alpha_low, alpha_high)) that was looked at; the boundary is cut there.
    """

    center: np.ndarray
    covariance: np.ndarray
    level: float
    kind: str
    region: tuple

    @property
    def standard_errors(self):
        """Of log eta and of log alpha, (2,): relative errors of eta and alpha while they are small."""
        return np.sqrt(np.diag(self.covariance))

    def contains(self, topic_word_prior, doc_topic_prior):
        """Whether (eta, alpha) lies inside.

        Parameters
        ----------
        topic_word_prior, doc_topic_prior : float or array-like
            Of shapes that broadcast.

        Returns
        -------
        bool or ndarray of bool
        """
        away = np.stack(np.broadcast_arrays(np.log(topic_word_prior), np.log(doc_topic_prior)), axis=-1) - np.log(
            self.center
        )
        finite = np.isfinite(np.diag(self.covariance))
        precision = np.zeros((2, 2))
        precision[np.ix_(finite, finite)] = np.linalg.pinv(self.covariance[np.ix_(finite, finite)])
        inside = np.einsum("...i,ij,...j->...", away, precision, away) <= chi2.ppf(self.level, 2)
        return bool(inside) if np.ndim(inside) == 0 else inside

    def boundary(self, n_points=100):
        """Points (eta, alpha) along the boundary, ndarray of shape (n_points, 2)."""
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
