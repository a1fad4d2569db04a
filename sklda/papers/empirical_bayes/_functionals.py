"""Posterior expectations of functionals for all h, their bands, and the box around the maximum."""

import numpy as np

from sklda._models.empirical_bayes.marginal_likelihood import FEWEST_EFFECTIVE, AveragedCurve, Curve


def expectations(curve: Curve, values: np.ndarray, alpha: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior expectations of a functional and their Monte Carlo standard errors by batch means; (n_priors,).

    `values` has the functional at every draw. Equation 2.14. The error is infinite if h has fewer than ten effective
    draws.
    """
    mean = np.empty(len(eta))
    std = np.empty(len(eta))
    for part in curve.slices(len(eta)):
        weights = curve.weights(alpha[part], eta[part])
        mean[part] = values @ weights
        std[part] = curve.errors(weights * (values[:, None] - mean[part]), weights)
    return mean, std


def region_of(curve: Curve | AveragedCurve, within: tuple, n_points: int = 41) -> tuple:
    """The box, within another, around all h that are less than 3.5 standard deviations from the maximum, by log m."""
    axes = [np.geomspace(low, high, n_points) for low, high in within]
    values = curve.surface(*axes)
    inside = values > values.max() - 3.5**2 / 2
    region = []
    for axis in range(2):
        found = np.flatnonzero(inside.any(axis=1 - axis))
        low = axes[axis][max(found[0] - 1, 0)]
        high = axes[axis][min(found[-1] + 1, n_points - 1)]
        region.append((float(low), float(high)))
    return tuple(region)


def global_band(
    curve: Curve, values: np.ndarray, region: tuple, level: float, n_points: int = 15, n_replicates: int = 2000
) -> float:
    """Half the width of a band that covers a posterior expectation for all h of a region, by its standard errors.

    The errors at different h have a joint normal distribution with the covariance of the batch sums. Each is divided by
    its standard error, whose degrees of freedom are those of the batches; the result is a quantile of the largest
    ratio. Without the division this is equation 2.19 of George & Doss (2018), whose band has the same width for h with
    many and with few effective draws. Only h with at least ten effective draws count; errors are taken at `n_points`
    values of each prior.
    """
    alpha, eta = (x.ravel() for x in np.meshgrid(*(np.geomspace(low, high, n_points) for low, high in region)))
    parts = []
    for part in curve.slices(len(eta)):
        weights = curve.weights(alpha[part], eta[part])
        terms = weights * (values[:, None] - values @ weights)
        parts.append(curve.batches.sums(terms[:, 1 / (weights**2).sum(axis=0) >= FEWEST_EFFECTIVE]))
    sums = np.concatenate(parts, axis=1)
    scale = np.sqrt((sums**2).sum(axis=0))
    sums = sums[:, scale > 0] / scale[scale > 0]
    freedom = curve.batches.freedom
    rng = np.random.default_rng(0)
    errors = np.abs(rng.standard_normal((n_replicates, len(sums))) @ sums).max(axis=1, initial=0)
    return float(np.quantile(errors * np.sqrt(freedom / rng.chisquare(freedom, n_replicates)), level))
