"""Stages of chains on (h, z): full Bayes or serial tempering on a grid, and m(h) from their draws."""

import numpy as np

from sklda._core import random
from sklda._core.count_histograms import CountHistograms
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.marginal_likelihood import AveragedCurve, Curve
from sklda.papers.empirical_bayes._denominators import component_denominators, mixture_denominators
from sklda.papers.empirical_bayes._grid import DirichletDraws, Grid, continue_on_grid
from sklda.papers.empirical_bayes._settings import GridSettings, wider

# Numbers of the stages of a fit, each with random streams of its own. Restarts of tuning have the numbers from
# `_TUNING` on.
_BURN_IN = 0
_DRAWS = 1
_TUNING = 2
# Largest number of times that zeta is tuned from zeta = 1, as in the paper.
RESTARTS = 4


class GridPool(ChainPool):
    """Chains that can continue on (h, z), with h on a grid."""

    settings: GridSettings

    def continue_on_grid(self, grid: Grid, stage: int, gain: float | None = None) -> None:
        """Continue the chains as chains on (h, z) over a grid, without observations so far.

        Each stage, by its number, has random streams of its own. For `gain` see `GridPoints`.
        """
        for c, chain in enumerate(self.chains):
            continue_on_grid(
                chain,
                grid,
                np.random.default_rng(random.child(self.seed, 1, stage, c)),
                index=self.settings.tempering.index,
                augmented=self.settings.tempering.augmented,
                functionals=self.settings.functionals,
                gain=gain,
            )

    def new_grid(self, region, refinement=1):
        """A grid over a region, with `refinement` steps for each step of `grid_shape`; one point for "simple"."""
        K = self.priors.n_components
        if self.settings.tempering.estimator == "simple":
            alphas, etas = np.sqrt([[low * high] for low, high in region])
            return Grid(self.corpus, K, alphas, etas)
        shape = [(n - 1) * refinement + 1 for n in self.settings.tempering.grid_shape]
        return Grid.over(self.corpus, K, region, shape)

    @property
    def grid(self):
        """The grid of the chains."""
        return self.steps[0].grid

    @property
    def search_region(self):
        """The box in which the maximum is searched."""
        return self.settings.search_region(self.grid.region)

    @property
    def observed(self):
        """The chains that have draws on the grid."""
        return [chain for chain in self.chains if chain.steps[0].observations]

    @property
    def observations(self):
        """Those of all chains, one chain after the other."""
        return [each for step in self.steps for each in step.observations]


def continue_with_full_bayes(
    pool: GridPool, region: tuple, n_burn_in: int, curve: Curve | AveragedCurve | None = None
) -> None:
    """Continue with zeta = 1, after a burn-in. A first estimate of m(h) is not needed.

    The grid is wider, because h is not held within the region. It has four steps for each step of `grid_shape`: given z
    the standard deviation of log h is small, so that chains would stay long at one point of a coarse grid.
    """
    if not pool.settings.grid_is_region:
        region = wider(region, pool.settings.region)
    grid = pool.new_grid(region, refinement=4)
    pool.continue_on_grid(grid, _BURN_IN)
    pool.sweep(n_burn_in)
    pool.continue_on_grid(grid, _DRAWS)


def continue_with_tempering(
    pool: GridPool, region: tuple, n_tuning: int, curve: Curve | AveragedCurve | None = None
) -> None:
    """Continue with a fixed zeta near m(h), on a grid over the region.

    The tuning, or each of its restarts, has `n_tuning` sweeps. `curve` is a first estimate of m(h), if there is one.
    """
    grid = pool.new_grid(region)
    if pool.settings.tempering.tuning == "restarts":
        tuned = _by_restarts(pool, grid, n_tuning)
    else:
        tuned = _by_stochastic_approximation(pool, grid, n_tuning, curve)
    pool.continue_on_grid(tuned, _DRAWS)


def _by_restarts(pool: GridPool, grid: Grid, n_tuning: int) -> Grid:
    """zeta from the m(h) of a run with the previous zeta, until all points have half of their visits (2.16)."""
    for attempt in range(RESTARTS):
        pool.continue_on_grid(grid, _TUNING + attempt)
        pool.sweep(n_tuning)
        log_values = current_curve(pool).log_values(*grid.points.T)
        visits = np.zeros(grid.shape)
        np.add.at(visits, tuple(np.transpose([each.at for each in pool.observations])), 1)
        grid = grid.with_log_zeta(log_values.reshape(grid.shape))
        if visits.min() >= 0.5 * visits.mean():
            break
    return grid


def _by_stochastic_approximation(
    pool: GridPool, grid: Grid, n_tuning: int, curve: Curve | AveragedCurve | None
) -> Grid:
    """The mean over chains of zeta, which each chain adapts after every sweep."""
    if curve is not None:
        grid = grid.with_log_zeta(curve.log_values(*grid.points.T).reshape(grid.shape))
    pool.continue_on_grid(grid, _TUNING, gain=float(grid.log_zeta.size))
    pool.sweep(n_tuning)
    return grid.with_log_zeta(np.mean([step.log_zeta - step.log_zeta.mean() for step in pool.steps], axis=0))


def current_curve(pool: GridPool, augmented: bool | None = None) -> Curve:
    """The estimate of m(h) from the observations of a pool; `augmented` as in `Tempering` if None."""
    if not pool.observed:
        # A callback has ended the chains before their first draw.
        for chain in pool.chains:
            chain.steps[0].observe(chain)
    grid = pool.grid
    tempering = pool.settings.tempering
    seen = pool.observations
    if augmented is None:
        augmented = tempering.augmented
    if augmented:
        draws = DirichletDraws.stack([each.parameters for each in seen])
    else:
        draws = CountHistograms.stack([each.counts for each in seen])
    if tempering.estimator == "component":
        denominators = component_denominators(draws, grid, [each.at for each in seen])
    else:
        denominators = mixture_denominators(draws, grid)
    batches = Batches.of_chains([len(chain.steps[0].observations) for chain in pool.observed])
    return Curve(draws, denominators, batches)
