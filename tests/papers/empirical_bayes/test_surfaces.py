"""m(h) from chains on (h, z) against rational arithmetic, with errors that hold, and mutations that are found.

Errors are batch means of four chains; an alarm is four of them at a point: for nine points of a surface, correlated and
with about 36 degrees of freedom, less than 9 * 3e-4. The seeds are the first ones tried.
"""

import warnings

import numpy as np
import pytest
from enumeration import make_chain, make_corpus
from prior_surfaces import REGION, SURFACES, largest_z, without_lengths
from scipy.special import logsumexp

from sklda._core.count_histograms import CountHistograms
from sklda._core.priors import Priors
from sklda.papers.empirical_bayes._estimate import estimate_on_grid
from sklda.papers.empirical_bayes._grid import Grid, GridPoints
from sklda.papers.empirical_bayes._settings import GridSettings, Tempering
from sklda.papers.empirical_bayes._stages import (
    GridPool,
    continue_with_full_bayes,
    continue_with_tempering,
    current_curve,
)

ALARM = 4.0
WAYS = {"full_bayes": (continue_with_full_bayes, False), "serial_tempering": (continue_with_tempering, True)}


def make_pool(docs, n_features, n_components, seed, n_tuning, max_iter, region=REGION, tempering=None):
    settings = GridSettings(
        n_last=n_tuning,
        max_iter=max_iter,
        n_tuning=n_tuning,
        region=region,
        grid_is_region=True,
        tempering=Tempering.make({"grid_shape": (7, 7), **(tempering or {})}),
    )
    priors = Priors.make(1.0, 1.0, n_components, n_features)
    return GridPool(make_corpus(docs, n_features), priors, settings, np.random.SeedSequence(seed), n_chains=4)


def run(*model, method="full_bayes", seed=0, n_tuning=150, max_iter=1000, region=REGION, **options):
    """An estimate on the fixed region, by the whole machinery."""
    with warnings.catch_warnings():
        # The surfaces are flat: their maxima lie at edges.
        warnings.simplefilter("ignore")
        return estimate_on_grid(make_pool(*model, seed, n_tuning, max_iter, region, options), *WAYS[method])


@pytest.mark.mutation("test_a_wrong_ratio_is_found")
@pytest.mark.parametrize(
    "surface, method",
    [
        pytest.param(surface, method, marks=() if surface == own else pytest.mark.exhaustive)
        for method, own in (("full_bayes", 4), ("serial_tempering", 2))
        for surface in range(5)
    ],
)
def test_log_ratios_are_exact_within_their_errors(surface, method):
    *model, table = SURFACES[surface]
    runs = [run(*model, method=method, seed=seed, n_tuning=60, max_iter=500) for seed in range(3)]
    assert largest_z(table, *(found.curve for found in runs)) < ALARM
    for found in runs:
        assert found.occupancy.sum() == pytest.approx(1)


@pytest.mark.mutation("test_a_wrong_denominator_is_found")
@pytest.mark.parametrize(
    "options",
    [
        *(
            pytest.param(single, marks=pytest.mark.exhaustive)
            for single in ({"ratio": "augmented"}, {"index": "neighbours"}, {"tuning": "restarts"})
        ),
        {"estimator": "simple"},
        {"ratio": "augmented", "index": "neighbours", "tuning": "restarts"},
    ],
    ids=lambda options: ", ".join(options.values()),
)
def test_the_papers_options_give_the_same_surface(options):
    *model, table = SURFACES[1]
    assert largest_z(table, run(*model, method="serial_tempering", max_iter=2000, **options).curve) < ALARM


@pytest.mark.mutation("test_a_wrong_ratio_is_found")
def test_the_component_estimator():
    """On a narrow grid: over a wide one its weights have no variance, which is why it is not the default."""
    *model, table = SURFACES[1]
    table = [row for row in table if row[:2] == (0.5, 0.5)]
    region = ((0.4, 1.2), (0.4, 1.2))
    found = run(*model, method="serial_tempering", region=region, estimator="component")
    assert largest_z(table, found.curve) < ALARM


def test_a_wrong_ratio_is_found(monkeypatch):
    *model, table = SURFACES[1]
    monkeypatch.setattr(CountHistograms, "doc_part", without_lengths)
    assert largest_z(table, run(*model).curve) > ALARM


def test_a_wrong_denominator_is_found(monkeypatch):
    """zeta left out of equation 2.10, as if the chains had been full Bayes."""
    monkeypatch.setattr(
        "sklda.papers.empirical_bayes._stages.mixture_denominators",
        lambda draws, grid: logsumexp(
            draws.doc_part(grid.alphas)[:, :, None] + draws.word_part(grid.etas)[:, None, :], axis=(1, 2)
        ),
    )
    *model, table = SURFACES[0]
    runs = [run(*model, method="serial_tempering", seed=seed) for seed in range(3)]
    assert largest_z(table, *(found.curve for found in runs)) > ALARM


@pytest.fixture(scope="module")
def errors_of_50_seeds():
    """One log ratio's errors in units of its standard error, from chains that begin anywhere."""
    *model, table = SURFACES[0]
    (exact,) = [row[2] for row in table if row[:2] == (0.1, 0.1)]
    z = []
    for seed in range(50):
        pool = make_pool(*model, seed, n_tuning=20, max_iter=120)
        grid = pool.new_grid(REGION)
        pool.initialise(pool.seed, 9)
        for stage, n_sweeps in enumerate((20, 120)):
            pool.continue_on_grid(grid, stage)
            pool.sweep(n_sweeps)
        value, std = current_curve(pool).log_ratio(0.1, 0.1, (1.0, 1.0))
        z.append((value[0] - exact) / std[0])
    return np.abs(z)


@pytest.mark.mutation("test_errors_of_the_wrong_size_are_found")
@pytest.mark.exhaustive
def test_errors_are_calibrated(errors_of_50_seeds):
    """33 are expected within one error and 47 within two; outside 20...46 and below 38 lies a probability of 1e-4."""
    assert 20 <= (errors_of_50_seeds < 1).sum() <= 46
    assert (errors_of_50_seeds < 2).sum() >= 38


@pytest.mark.exhaustive
def test_errors_of_the_wrong_size_are_found(errors_of_50_seeds):
    too_small, too_large = errors_of_50_seeds / 0.3, errors_of_50_seeds / 3
    assert (too_small < 1).sum() < 20
    assert (too_small < 2).sum() < 38
    assert (too_large < 1).sum() > 46


def visits(rule, n_steps=40_000, thin=8):
    """Grid points drawn with z held fixed, and their full conditional."""
    docs, n_features, n_components, _ = SURFACES[1]
    corpus = make_corpus(docs, n_features)
    chain = make_chain(corpus, Priors.make(1.0, 1.0, n_components, n_features), np.arange(corpus.n_tokens) % 2)
    tempered = GridPoints(Grid.over(corpus, n_components, REGION, (4, 2)), np.random.default_rng(0))
    tempered.look(chain)
    tempered.at = (0, 0)
    seen = np.zeros(tempered.grid.shape)
    for step in range(n_steps):
        tempered.at = getattr(tempered, rule)()
        if step % thin == 0:
            seen[tempered.at] += 1
    expected = tempered.conditional() * seen.sum()
    return ((seen - expected) ** 2 / expected).sum()


@pytest.mark.mutation("test_neighbour_proposals_without_the_edge_correction_are_found")
def test_neighbour_proposals_with_the_edge_correction():
    """Chi-square of 7 degrees of freedom; thinned draws of the chain are nearly independent, 100 leaves room."""
    assert visits("_draw") < 32
    assert visits("_propose") < 100


def test_neighbour_proposals_without_the_edge_correction_are_found(monkeypatch):
    monkeypatch.setattr(Grid, "neighbours", _lopsided)
    assert visits("_propose") > 100


def _lopsided(self, at):
    """As if every point had as many neighbours: those beyond the edge are drawn again."""
    found = [
        (min(max(at[0] + i, 0), self.shape[0] - 1), min(max(at[1] + j, 0), self.shape[1] - 1))
        for i in (0, 1)
        for j in (-1, 0, 1)
    ]
    return [each for each in found if each != at] or [at]
