"""h = (alpha, eta) by maximum marginal likelihood: the stages of each method in their order, and the result."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.warn import warn
from sklda._models.empirical_bayes.convergence import (
    effective_draws,
    split_r_hat,
    warn_of_disagreement,
    warn_of_edges,
    warn_of_unvisited_points,
)
from sklda._models.empirical_bayes.marginal_likelihood import Curve, region_of
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.mixtures import conditional_means
from sklda._models.empirical_bayes.modes import Beginning, begin, resolve
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda._models.empirical_bayes.skeleton import find_maximum
from sklda._models.empirical_bayes.tempered_stages import RESTARTS, current_curve, full_bayes, serial_tempering


@dataclass(frozen=True, eq=False)
class MarginalLikelihoodEstimate:
    """An estimate of m(h) and of its maximum.

    Attributes
    ----------
    method : str
    curve : Curve or AveragedCurve
        m(h).
    maximum : Maximum
    alphas, etas : ndarray of shape (n_alphas,) and (n_etas,)
        Values at which the chains were swept.
    region : pair of (float, float)
        The box in which the maximum was searched.
    occupancy : ndarray of shape (n_alphas, n_etas)
        Share of the draws at each pair; on a grid by the full conditionals of the grid point.
    acceptance_rate : float
        Share of the sweeps before which h changed.
    r_hat, ess : ndarray of shape (2,)
        Split R-hat and effective number of draws: on a grid of E(log h | z), otherwise of the derivatives of
        log p(w, z | h) at the maximum, less their mean at the draw's point.
    beginning : Beginning
    chains_disagree : bool
    functional_curve : Curve or None
        Weights of the draws of (theta, beta).
    functional_values : ndarray of shape (n_draws, n_functionals)
    functional_region : pair of (float, float)
        Region of the grid on which they were drawn.
    """

    method: str
    curve: Curve
    maximum: Maximum
    alphas: np.ndarray
    etas: np.ndarray
    region: tuple
    occupancy: np.ndarray
    acceptance_rate: float
    r_hat: np.ndarray
    ess: np.ndarray
    beginning: Beginning
    chains_disagree: bool
    functional_curve: Curve | None
    functional_values: np.ndarray
    functional_region: tuple


def estimate(pool, method):
    """Estimate m(h) and its maximum.

    Parameters
    ----------
    pool : ChainPool
        Afterwards its chains have the maximum as their priors, and sweeps there.
    method : {"skeleton", "serial_tempering", "full_bayes"}

    Returns
    -------
    MarginalLikelihoodEstimate

    Warns
    -----
    ConvergenceWarning
        If the maximum lies at an edge or is extrapolated, chains disagree, only one search found the
        best mode, or a part of the grid was not visited.
    """
    settings = pool.settings
    n_last = min(settings.n_tuning, settings.max_iter // 4)
    beginning = begin(pool, random.child(pool.seed, 0))
    if method == "skeleton":
        n_functionals = min(settings.max_iter // 3, 5 * settings.n_tuning) if settings.functionals else 0
        skeleton = find_maximum(pool, beginning, n_last + n_functionals, settings.tol)
        found = _by_skeleton(pool, beginning, skeleton, n_last, n_functionals)
    else:
        skeleton = find_maximum(pool, beginning, (pool.left + n_last) // 2, np.inf)
        found = _on_grid(pool, beginning, skeleton, method, n_last)
    if method == "skeleton" and settings.tol == 0:
        n_last = max(n_last, pool.left)
    pool.finish([found.maximum.log_h] * len(pool.chains), n_last)
    warn_of_edges(found.maximum, found.region)
    if found.maximum.extrapolated and found.maximum.interior.any():
        warn(
            "The priors may move further: chains were not swept near their last estimate, or have too few draws there. "
            "Monte Carlo errors contain the distance, or are infinite on a grid. Make max_iter larger.",
            ConvergenceWarning,
        )
    if found.chains_disagree:
        warn_of_disagreement(found.r_hat)
    return found


def _by_skeleton(pool, beginning, found, n_last, n_functionals):
    """m(h) from a skeleton; functionals by full Bayes around its maximum."""
    found = resolve(pool, found, n_last + n_functionals, beginning.shares, random.child(pool.seed, 2))
    functionals = None, np.empty((0, 0)), found.region
    if n_functionals:
        full_bayes(pool, region_of(found.curve, found.region), n_functionals // 4)
        pool.sweep(n_functionals - n_functionals // 4)
        # Few sweeps, or a callback, may have left no draws.
        functionals = _functionals(pool) if pool.observed else functionals
    (alphas, i), (etas, j) = (np.unique(np.exp(x), return_inverse=True) for x in found.points.T)
    occupancy = np.zeros((len(alphas), len(etas)))
    np.add.at(occupancy, (i, j), found.n_at / found.n_at.sum())
    shape = alphas, etas, found.region, occupancy, _share_moved(pool.chains)
    series = found.score_series()
    convergence = split_r_hat(series), effective_draws(series)
    return MarginalLikelihoodEstimate(
        "skeleton", found.curve, found.maximum, *shape, *convergence, beginning, not found.agree, *functionals
    )


def _on_grid(pool, beginning, placed, method, n_last):
    """m(h) from chains on (h, z), on a grid around the maximum of a short skeleton, `placed`."""
    settings = pool.settings
    region = settings.region if settings.grid_is_region else region_of(placed.curve, placed.region)
    n_runs = RESTARTS if settings.tempering.tuning == "restarts" else 1
    n_tuning = max(min(settings.n_tuning, (pool.left - n_last) // (2 * n_runs)), 1)
    if method == "full_bayes":
        full_bayes(pool, region, n_tuning)
    else:
        serial_tempering(pool, region, n_tuning, placed.curve)
    pool.sweep(max(pool.left - n_last, 1))
    curve, grid = current_curve(pool), pool.grid
    occupancy, log_h = conditional_means(curve.draws, grid)
    if method == "serial_tempering":
        warn_of_unvisited_points(occupancy, grid)
    functionals = _functionals(pool) if settings.functionals else (None, np.empty((0, 0)), grid.region)
    series = np.split(log_h, np.cumsum(curve.batches.of_chain)[:-1])
    shape = grid.alphas, grid.etas, pool.search_region, occupancy, _share_moved(pool.observed)
    convergence = split_r_hat(series), effective_draws(series)
    maximum = Maximum.of(curve, pool.search_region)
    return MarginalLikelihoodEstimate(method, curve, maximum, *shape, *convergence, beginning, False, *functionals)


def _share_moved(chains):
    """Share of the sweeps of chains before which h changed."""
    paths = [np.array(trace_of(chain).path) for chain in chains]
    return float(np.mean([(at[1:] != at[:-1]).any(axis=1).mean() if len(at) > 1 else 0.0 for at in paths]))


def _functionals(pool):
    """The curve of the draws of (theta, beta), the functionals at these draws, and the region of the grid."""
    values = np.array([each.values for each in pool.observations])
    return current_curve(pool, augmented=True), values, pool.grid.region
