"""Stages of chains on (h, z): preparation by full Bayes or serial tempering, and m(h) from their draws."""

import numpy as np

from sklda._inference.count_histograms import CountHistograms
from sklda._inference.hyperparameters.convergence import UNVISITED
from sklda._inference.hyperparameters.marginal_likelihood import (
    Curve,
    component_denominators,
    conditional_means,
    mixture_denominators,
)
from sklda._inference.hyperparameters.maximum import maximum_of
from sklda._inference.hyperparameters.serial_tempering import DirichletDraws
from sklda._inference.hyperparameters.settings import RESTARTS, wider

# Numbers of the stages of a fit, each with random streams of its own. Restarts of tuning have `_TUNING` and the
# following numbers; each extension of the grid has `AT_MAXIMUM` plus the sweeps so far.
_FULL_BAYES_BURN_IN, _FULL_BAYES, _TUNING = 0, 1, 2
_SERIAL_TEMPERING = _TUNING + RESTARTS
AT_MAXIMUM = _SERIAL_TEMPERING + 1
# Steps of the grid of full Bayes for one step of the grid of serial tempering. Given z the standard deviation of log h
# is small, so that chains would stay long at one point of a coarse grid.
REFINEMENT = 4
# A region is narrow if the logarithms of its ends differ by less than this. It reaches 3.5 standard deviations of log h
# to either side.
_NARROW = 4.0
# With restarts, zeta is tuned again until the least visited point has this share of its expected visits.
_EVEN = 0.5


def full_bayes(pool, placement):
    """Continue with zeta = 1 and, if the chains do not agree yet, burn them in."""
    # A wider grid, so that chains whose h still moves do not stop at its ends.
    whole = pool.settings.grid_is_region
    grid = pool.new_grid(
        placement.region if whole else wider(placement.region, pool.settings.region),
        REFINEMENT,
    )
    if not placement.in_equilibrium:
        pool.temper(grid, _FULL_BAYES_BURN_IN)
        pool.sweep(pool.settings.n_tuning)
    pool.temper(grid, _FULL_BAYES)


def serial_tempering(pool, region, curve=None):
    """Continue with a fixed zeta near m(h).

    Parameters
    ----------
    pool : ChainPool
    region : pair of (float, float)
        The region of the grid.
    curve : Curve, default=None
        A first estimate of m(h), if there is one.
    """
    if pool.settings.tempering.tuning == "restarts":
        grid = _tune_by_restarts(pool, pool.new_grid(region))
    else:
        grid = _tune_by_stochastic_approximation(pool, pool.new_grid(region), curve)
    pool.temper(grid, _SERIAL_TEMPERING)


def _tune_by_restarts(pool, grid):
    """zeta from the m(h) of a run with the previous zeta, until all points are visited (equation 2.16)."""
    for attempt in range(RESTARTS):
        pool.temper(grid, _TUNING + attempt)
        pool.sweep(pool.settings.n_tuning)
        log_values = build_curve(pool.chains, grid, pool.settings.tempering).log_values(*grid.points.T)
        visits = visited(pool.chains, grid)
        grid = grid.with_log_zeta(log_values.reshape(grid.shape))
        if visits.min() * visits.size >= _EVEN:
            break
    return grid


def _tune_by_stochastic_approximation(pool, grid, curve):
    """The mean over chains of zeta, which each chain adapts after every sweep."""
    if curve is not None:
        grid = grid.with_log_zeta(curve.log_values(*grid.points.T).reshape(grid.shape))
    pool.temper(grid, _TUNING, gain=float(grid.log_zeta.size))
    pool.sweep(pool.settings.n_tuning)
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


def build_curve(chains, grid, tempering):
    """The estimate of m(h) from the observations of chains on a grid."""
    chains = [chain for chain in chains if chain.n_observations]
    draws = stack_draws(chains, tempering.augmented)
    if tempering.estimator == "component":
        at = np.concatenate([chain.observations.at for chain in chains])
        denominators = component_denominators(draws, grid, at)
    else:
        denominators = mixture_denominators(draws, grid)
    return Curve(draws, denominators, [chain.n_observations for chain in chains])


def current_curve(pool):
    """The estimate of m(h) from the observations of a pool."""
    return build_curve(pool.chains, pool.grid, pool.settings.tempering)


def current_maximum(pool, curve):
    """The maximum of the curve, with errors."""
    return maximum_of(curve, pool.search_region)


def log_h_series(curve, grid):
    """E(log h | z) along every chain, a list of (n_draws, 2)."""
    return np.split(conditional_means(curve.draws, grid)[1], np.cumsum(curve.lengths)[:-1])


def is_narrow(region):
    """Whether m(h) is far from zero only where both methods visit all points of a grid."""
    return bool((np.ptp(np.log(region), axis=1) < _NARROW).all())


def tempering_is_better(bayesian, tempered):
    """Whether serial tempering visited all points and has the smaller error of log h after as many sweeps.

    Parameters
    ----------
    bayesian, tempered : ChainPool
        After equally many sweeps of full Bayes and of serial tempering.

    Returns
    -------
    bool
    """
    draws = stack_draws(tempered.chains, tempered.settings.tempering.augmented)
    if conditional_means(draws, tempered.grid)[0].min() * tempered.grid.log_zeta.size < UNVISITED:
        return False
    search = tempered.search_region
    a, b = (maximum_of(current_curve(pool), search) for pool in (bayesian, tempered))
    if (a.interior != b.interior).any() or not a.interior.any():
        return True
    block = np.ix_(a.interior, a.interior)
    return bool(np.linalg.det(b.monte_carlo[block]) < np.linalg.det(a.monte_carlo[block]))
