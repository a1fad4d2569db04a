"""Stages of chains on (h, z): full Bayes or serial tempering on a grid, and m(h) from their draws."""

import numpy as np

from sklda._inference.count_histograms import CountHistograms
from sklda._inference.hyperparameters.marginal_likelihood import Curve
from sklda._inference.hyperparameters.maximum import maximum_of
from sklda._inference.hyperparameters.mixtures import component_denominators, conditional_means, mixture_denominators
from sklda._inference.hyperparameters.observations import DirichletDraws
from sklda._inference.hyperparameters.settings import RESTARTS, wider

# Numbers of the stages of a fit, each with random streams of its own. Restarts of tuning have the numbers from
# `_TUNING` on.
_BURN_IN, _DRAWS, _TUNING = 0, 1, 2
# Steps of the grid of full Bayes for one step of the grid of serial tempering. Given z the standard deviation of log h
# is small, so that chains would stay long at one point of a coarse grid.
_REFINEMENT = 4
# With restarts, zeta is tuned again until the least visited point has this share of its expected visits.
_EVEN = 0.5


def full_bayes(pool, region, n_burn_in):
    """Continue with zeta = 1, after a burn-in; on a wider grid, because h is not held within the region."""
    grid = pool.new_grid(region if pool.settings.grid_is_region else wider(region, pool.settings.region), _REFINEMENT)
    pool.temper(grid, _BURN_IN)
    pool.sweep(n_burn_in)
    pool.temper(grid, _DRAWS)


def serial_tempering(pool, region, n_tuning, curve=None):
    """Continue with a fixed zeta near m(h).

    Parameters
    ----------
    pool : ChainPool
    region : pair of (float, float)
        The region of the grid.
    n_tuning : int
        Sweeps of the tuning, or of each of its restarts.
    curve : Curve, default=None
        A first estimate of m(h), if there is one.
    """
    if pool.settings.tempering.tuning == "restarts":
        grid = _tune_by_restarts(pool, pool.new_grid(region), n_tuning)
    else:
        grid = _tune_by_stochastic_approximation(pool, pool.new_grid(region), n_tuning, curve)
    pool.temper(grid, _DRAWS)


def _tune_by_restarts(pool, grid, n_tuning):
    """zeta from the m(h) of a run with the previous zeta, until all points are visited (equation 2.16)."""
    for attempt in range(RESTARTS):
        pool.temper(grid, _TUNING + attempt)
        pool.sweep(n_tuning)
        log_values = current_curve(pool).log_values(*grid.points.T)
        visits = visited(pool.chains, grid)
        grid = grid.with_log_zeta(log_values.reshape(grid.shape))
        if visits.min() * visits.size >= _EVEN:
            break
    return grid


def _tune_by_stochastic_approximation(pool, grid, n_tuning, curve):
    """The mean over chains of zeta, which each chain adapts after every sweep."""
    if curve is not None:
        grid = grid.with_log_zeta(curve.log_values(*grid.points.T).reshape(grid.shape))
    pool.temper(grid, _TUNING, gain=float(grid.log_zeta.size))
    pool.sweep(n_tuning)
    return grid.with_log_zeta(np.mean([chain.log_zeta - chain.log_zeta.mean() for chain in pool.chains], axis=0))


def visited(chains, grid):
    """Share of the sweeps at each grid point."""
    counts = np.zeros(grid.shape)
    np.add.at(counts, tuple(np.concatenate([chain.observations.at for chain in chains]).T), 1)
    return counts / counts.sum()


def stack_draws(chains, augmented):
    """The draws of all chains, one chain after the other: of z, or of (theta, beta)."""
    if augmented:
        return DirichletDraws.stack([chain.observations.parameters for chain in chains])
    return CountHistograms.stack([chain.observations.counts for chain in chains])


def current_curve(pool):
    """The estimate of m(h) from the observations of a pool."""
    chains, grid, tempering = pool.observed, pool.grid, pool.settings.tempering
    draws = stack_draws(chains, tempering.augmented)
    if tempering.estimator == "component":
        at = np.concatenate([chain.observations.at for chain in chains])
        denominators = component_denominators(draws, grid, at)
    else:
        denominators = mixture_denominators(draws, grid)
    return Curve(draws, denominators, [chain.n_observations for chain in chains])


def current_maximum(pool, curve):
    """The maximum of the curve, with errors."""
    return maximum_of(curve, pool.search_region)


def log_h_series(curve, grid):
    """E(log h | z) along every chain, a list of (n_draws, 2)."""
    return np.split(conditional_means(curve.draws, grid)[1], np.cumsum(curve.lengths)[:-1])
