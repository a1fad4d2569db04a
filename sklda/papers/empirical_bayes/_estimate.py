"""h = (alpha, eta) by maximum marginal likelihood, from chains on (h, z): the stages in their order, and the result."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._input.warn import warn
from sklda._models.empirical_bayes.convergence import draws_by_batch_means, unranked_r_hat
from sklda._models.empirical_bayes.estimate import MarginalLikelihoodEstimate, warn_of_faults
from sklda._models.empirical_bayes.marginal_likelihood import Curve
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.modes import begin
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda._models.empirical_bayes.skeleton import find_maximum
from sklda.papers.empirical_bayes._denominators import conditional_means
from sklda.papers.empirical_bayes._functionals import region_of
from sklda.papers.empirical_bayes._stages import RESTARTS, GridPool, current_curve


@dataclass(frozen=True, eq=False)
class FunctionalDraws:
    """Draws from which posterior expectations of functionals are computed."""

    curve: Curve  # weights of the draws of (theta, beta)
    values: np.ndarray  # functionals at these draws, (n_draws, n_functionals)
    region: tuple  # of the grid on which they were drawn: a pair of (float, float)


@dataclass(frozen=True, eq=False)
class GridEstimate(MarginalLikelihoodEstimate):
    """An estimate of m(h) from chains on (h, z).

    `occupancy` is that by the full conditionals of the grid point, and R-hat and effective draws are those of
    E(log h | z).
    """

    # Share of the sweeps before which h changed.
    acceptance_rate: float
    # None if there were no functionals.
    functionals: FunctionalDraws | None


def estimate_on_grid(pool: GridPool, visit: Callable[..., None], every_point: bool) -> GridEstimate:
    """Estimate m(h) and its maximum on a grid around the maximum of a short skeleton.

    ``visit(pool, region, n_tuning, curve)`` makes the chains continue on the grid: full Bayes or serial tempering. If
    they should visit `every_point`, there is a warning of those that they missed. Afterwards the chains of the pool
    have the maximum as their priors, and sweeps there.
    """
    settings = pool.settings
    n_last = min(settings.n_last, settings.max_iter // 4)
    beginning = begin(pool, random.child(pool.seed, 0))
    placed = find_maximum(
        pool,
        beginning.log_h,
        reserved=(pool.left + n_last) // 2,
        error_ratio=np.inf,
        several_modes=beginning.several_modes,
    )
    region = settings.region if settings.grid_is_region else region_of(placed.curve, placed.region)
    n_runs = RESTARTS if settings.tempering.tuning == "restarts" else 1
    n_tuning = max(min(settings.n_tuning, (pool.left - n_last) // (2 * n_runs)), 1)
    visit(pool, region, n_tuning, placed.curve)
    pool.sweep(max(pool.left - n_last, 1))

    curve = current_curve(pool)
    grid = pool.grid
    occupancy, log_h = conditional_means(curve.draws, grid)
    if every_point:
        _warn_of_unvisited_points(occupancy, grid)
    series = np.split(log_h, np.cumsum(curve.batches.of_chain)[:-1])
    found = GridEstimate(
        curve=curve,
        maximum=Maximum.of(curve, pool.search_region),
        alphas=grid.alphas,
        etas=grid.etas,
        region=pool.search_region,
        occupancy=occupancy,
        r_hat=unranked_r_hat(series),
        n_effective=draws_by_batch_means(series),
        beginning=beginning,
        acceptance_rate=_share_moved(pool.observed),
        functionals=_functionals(pool) if settings.functionals else None,
    )
    pool.finish([found.maximum.log_h] * len(pool.chains), n_last)
    warn_of_faults(found)
    return found


def _functionals(pool: GridPool) -> FunctionalDraws:
    """Functionals at the draws that the chains have on the grid."""
    return FunctionalDraws(
        curve=current_curve(pool, augmented=True),
        values=np.array([each.values for each in pool.observations]),
        region=pool.grid.region,
    )


def _share_moved(chains: list) -> float:
    """Share of the sweeps of chains before which h changed."""
    shares = []
    for chain in chains:
        path = np.array(trace_of(chain).path)
        moved = (path[1:] != path[:-1]).any(axis=1) if len(path) > 1 else np.zeros(1)
        shares.append(moved.mean())
    return float(np.mean(shares))


def _warn_of_unvisited_points(occupancy, grid):
    """Warn of grid points with less than a twentieth of their expected visits by serial tempering."""
    missed = occupancy * occupancy.size < 0.05
    if not missed.any():
        return
    alphas = grid.alphas[missed.any(axis=1)]
    etas = grid.etas[missed.any(axis=0)]
    warn(
        f"Serial tempering did not visit {missed.sum()} of {missed.size} grid points (doc_topic_prior from "
        f"{alphas[0]:.3g} to {alphas[-1]:.3g}, topic_word_prior from {etas[0]:.3g} to {etas[-1]:.3g}): the marginal "
        "likelihood there is extrapolated. Raise n_tuning, or give a smaller region.",
        ConvergenceWarning,
    )
