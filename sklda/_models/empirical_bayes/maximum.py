"""The maximum of an estimate of m(h), and its Monte Carlo and statistical errors."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sklda._models.empirical_bayes.batch_means import positive_part
from sklda._models.empirical_bayes.marginal_likelihood import FEWEST_EFFECTIVE
from sklda._models.empirical_bayes.settings import FINE_ENOUGH, Hyperparameters

# Points of the grid on each prior by which the second derivatives are spread out.
_GRID_POINTS = 41


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maximum of an estimate of m(h).

    Along a prior at an edge, or along which log m is not concave, both covariances are infinite.
    """

    log_h: np.ndarray  # (log alpha, log eta)
    monte_carlo: np.ndarray  # covariance of `log_h` as an estimate of the maximum of m(h), (2, 2)
    statistical: np.ndarray  # inverse of minus the second derivatives of log m, (2, 2)
    hessian: np.ndarray  # second derivatives of log m, (2, 2)
    # "lower" or "upper" for the priors (0 for alpha, 1 for eta) whose maximum lies at an edge of the region searched,
    # or is not distinguishable from the edge.
    edges: dict
    extrapolated: bool  # whether chains were not swept near the maximum, or have too few draws there

    @classmethod
    def of(cls, curve, region, centre=None, reach=np.inf):
        """The maximum of a `Curve` or `AveragedCurve` on a region.

        Chains may be on their way if it is farther than `reach` from the `centre` of their last points, or has few
        effective draws. The errors then contain the distance from the centre, or are infinite without one.
        """
        log_h = curve.maximise(region)
        edges = _edges(curve, log_h, region)
        hessian = _hessian(curve, log_h, region)
        monte_carlo, statistical = _covariances(curve.score_covariance(log_h), hessian, edges)
        away = np.full(2, np.inf) if centre is None else log_h - centre
        extrapolated = curve.effective_weights(log_h) < FEWEST_EFFECTIVE
        if centre is not None:
            extrapolated |= (np.abs(away) > reach).any()
        if extrapolated:
            # A product of zero and infinity is not a number.
            monte_carlo = monte_carlo + (np.diag(away) if centre is None else np.outer(away, away))
        return cls(
            log_h=log_h,
            monte_carlo=monte_carlo,
            statistical=statistical,
            hessian=hessian,
            edges=edges,
            extrapolated=bool(extrapolated),
        )

    def with_distance(self, moved: np.ndarray) -> Self:
        """The same with Monte Carlo errors that contain the distance by which log h still moves, (2,)."""
        moved = np.where(self.interior, moved, 0.0)
        return replace(self, monte_carlo=self.monte_carlo + np.outer(moved, moved))

    @property
    def h(self):
        return Hyperparameters(*np.exp(self.log_h).tolist())

    @property
    def total(self):
        """Covariance of `log_h` as an estimate of the priors that generated the corpus, (2, 2)."""
        # Draws of z given the corpus do not depend on the priors that generated it.
        return self.statistical + self.monte_carlo

    @property
    def interior(self):
        """Whether log alpha and log eta have finite errors, (2,)."""
        return np.isfinite(np.diag(self.statistical))

    def excess_error(self, error_ratio):
        """The larger ratio of the Monte Carlo errors to those that are allowed.

        It is infinite if neither is finite, or if the maximum is extrapolated. Allowed is the share `error_ratio` of
        the statistical error, or `FINE_ENOUGH` if that is larger.
        """
        inside = self.interior
        if error_ratio == 0 or not inside.any():
            return np.inf
        if error_ratio == np.inf:
            return 0.0
        if self.extrapolated:
            return np.inf
        allowed = np.maximum(error_ratio * np.sqrt(np.diag(self.statistical)[inside]), FINE_ENOUGH)
        return float((np.sqrt(np.diag(self.monte_carlo)[inside]) / allowed).max())


def _hessian(curve, log_h, region):
    """Second derivatives of log m, as differences over one standard deviation of h under a density proportional to m.

    At one point they are a small difference of two large means, and few draws estimate it badly.
    """
    axes = [np.linspace(*ends, _GRID_POINTS) for ends in np.log(region)]
    density = curve.surface(*np.exp(axes))
    density = np.exp(density - density.max())
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=2).reshape(-1, 2)
    covariance = np.atleast_2d(np.cov(points.T, aweights=density.ravel(), ddof=0))
    # At least the variance within one step of the grid.
    least = [(axis[1] - axis[0]) ** 2 / 12 for axis in axes]
    values, vectors = np.linalg.eigh(covariance + np.diag(least))
    steps = vectors * np.sqrt(values)
    signs = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
    f = curve.log_values(*np.exp(log_h + signs @ steps.T).T)
    first_axis = f[1] + f[2] - 2 * f[0]
    second_axis = f[3] + f[4] - 2 * f[0]
    cross = (f[5] + f[6] - f[7] - f[8]) / 4
    second = np.array([[first_axis, cross], [cross, second_axis]])
    back = np.linalg.inv(steps)
    return back.T @ second @ back


def _covariances(score, hessian, edges):
    """Monte Carlo and statistical covariance of log h, infinite along edges and where log m is not concave."""
    inside = np.array([axis not in edges and hessian[axis, axis] < 0 for axis in range(2)])
    if inside.all() and np.linalg.det(hessian) <= 0:
        inside[np.argmax(np.diag(hessian))] = False
    monte_carlo = np.zeros((2, 2))
    statistical = np.zeros((2, 2))
    block = np.ix_(inside, inside)
    statistical[block] = np.linalg.inv(-hessian[block])
    # Rounding alone may make variances negative where all draws agree.
    monte_carlo[block] = positive_part(statistical[block] @ score[block] @ statistical[block])
    for axis in np.flatnonzero(~inside):
        monte_carlo[axis, axis] = np.inf
        statistical[axis, axis] = np.inf
    return monte_carlo, statistical


def _edges(curve, log_h, region):
    """The edges at which log m is lower than at its maximum by less than .01 nats, or two standard errors."""
    edges = {}
    for axis in range(2):
        for side, name in enumerate(("lower", "upper")):
            there = np.exp(log_h)
            there[axis] = region[axis][side]
            value, std = (x[0] for x in curve.log_ratio(*there[:, None], np.exp(log_h), spread=False))
            if value >= -max(0.01, 2 * std if np.isfinite(std) else 0.0):
                edges[axis] = name
    return edges
