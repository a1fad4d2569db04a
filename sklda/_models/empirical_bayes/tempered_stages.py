"""Stages of chains on (h, z): full Bayes or serial tempering on a grid, and m(h) from their draws."""

import numpy as np

from sklda._core.count_histograms import CountHistograms
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.denominators import component_denominators, mixture_denominators
from sklda._models.empirical_bayes.marginal_likelihood import Curve
from sklda._models.empirical_bayes.observations import DirichletDraws
from sklda._models.empirical_bayes.settings import wider

# Numbers of the stages of a fit, each with random streams of its own. Restarts of tuning have the numbers from
# `_TUNING` on.
_BURN_IN, _DRAWS, _TUNING = 0, 1, 2
# Largest number of times that zeta is tuned from zeta = 1, as in the paper.
RESTARTS = 4


def full_bayes(pool, region, n_burn_in):
    """Continue with zeta = 1, after a burn-in.

    The grid is wider, because h is not held within the region. It has four steps for each step of `grid_shape`: given z
    the standard deviation of log h is small, so that chains would stay long at one point of a coarse grid.
    """
    grid = pool.new_grid(region if pool.settings.grid_is_region else wider(region, pool.settings.region), 4)
    pool.continue_on_grid(grid, _BURN_IN)
    pool.sweep(n_burn_in)
    pool.continue_on_grid(grid, _DRAWS)


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
    tune = _by_restarts if pool.settings.tempering.tuning == "restarts" else _by_stochastic_approximation
    pool.continue_on_grid(tune(pool, pool.new_grid(region), n_tuning, curve), _DRAWS)


def _by_restarts(pool, grid, n_tuning, curve):
    """zeta from the m(h) of a run with the previous zeta, until all points have half of their visits (2.16)."""
    for attempt in range(RESTARTS):
        pool.continue_on_grid(grid, _TUNING + attempt)
        pool.sweep(n_tuning)
        log_values, visits = current_curve(pool).log_values(*grid.points.T), np.zeros(grid.shape)
        np.add.at(visits, tuple(np.transpose([each.at for each in pool.observations])), 1)
        grid = grid.with_log_zeta(log_values.reshape(grid.shape))
        if visits.min() >= 0.5 * visits.mean():
            break
    return grid


def _by_stochastic_approximation(pool, grid, n_tuning, curve):
    """The mean over chains of zeta, which each chain adapts after every sweep."""
    if curve is not None:
        grid = grid.with_log_zeta(curve.log_values(*grid.points.T).reshape(grid.shape))
    pool.continue_on_grid(grid, _TUNING, gain=float(grid.log_zeta.size))
    pool.sweep(n_tuning)
    return grid.with_log_zeta(np.mean([step.log_zeta - step.log_zeta.mean() for step in pool.steps], axis=0))


def current_curve(pool, augmented=None):
    """The estimate of m(h) from the observations of a pool; `augmented` as in `Tempering` if None."""
    if not pool.observed:
        # A callback has ended the chains before their first draw.
        for chain in pool.chains:
            chain.steps[0].observe(chain)
    grid, tempering, seen = pool.grid, pool.settings.tempering, pool.observations
    if tempering.augmented if augmented is None else augmented:
        draws = DirichletDraws.stack([each.parameters for each in seen])
    else:
        draws = CountHistograms.stack([each.counts for each in seen])
    if tempering.estimator == "component":
        denominators = component_denominators(draws, grid, [each.at for each in seen])
    else:
        denominators = mixture_denominators(draws, grid)
    return Curve(draws, denominators, Batches.of_chains([len(chain.steps[0].observations) for chain in pool.observed]))
