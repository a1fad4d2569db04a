"""Chains of a pool on (h, z): their streams and their grids."""

import numpy as np
from enumeration import DOCS, make_corpus

from sklda._core.priors import Priors
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda.papers.empirical_bayes._grid import continue_on_grid
from sklda.papers.empirical_bayes._settings import GridSettings, Tempering, wider
from sklda.papers.empirical_bayes._stages import GridPool

REGION = ((0.1, 10.0), (0.05, 5.0))


def make_pool(grid_is_region=False, **tempering):
    settings = GridSettings(
        n_last=5,
        max_iter=10,
        n_tuning=5,
        region=REGION,
        grid_is_region=grid_is_region,
        tempering=Tempering.make({"grid_shape": (3, 4), **tempering}),
    )
    pool = GridPool(make_corpus(DOCS, 4), Priors.make(0.5, 0.5, 2, 4), settings, np.random.SeedSequence(0), n_chains=3)
    pool.initialise(pool.seed)
    return pool


def test_stages_have_streams_of_their_own(same):
    paths = []
    for stage in (0, 1, 1):
        other = make_pool()
        other.continue_on_grid(other.new_grid(REGION), stage)
        for chain, step in zip(other.chains, other.steps, strict=True):
            continue_on_grid(chain, step.grid, step.rng)
        other.sweep(30)
        paths.append([trace_of(chain).path for chain in other.chains])
    assert paths[0] != paths[1] == paths[2]
    assert len({str(path) for path in paths[0]}) == 3


def test_grids():
    pool = make_pool()
    assert pool.new_grid(REGION).shape == (3, 4)
    assert pool.new_grid(REGION, 4).shape == (9, 13)
    one = make_pool(estimator="simple").new_grid(REGION)
    np.testing.assert_allclose(one.points, [[1.0, 0.5]])
    inner = ((0.5, 2.0), (0.2, 1.0))
    assert pool.settings.search_region(inner) == wider(inner, REGION)
    assert make_pool(grid_is_region=True).settings.search_region(inner) == REGION
