"""m(h) against rational arithmetic, with errors that hold, and mutations that are found.

Values of log m(h) / m(1, 1) are exact to all digits shown. Errors are batch means of four chains; an alarm is four of
them at a point: for nine points of a surface, correlated and with about 36 degrees of freedom, less than 9 * 3e-4.
The seeds are the first ones tried.
"""

import itertools
import warnings

import numpy as np
import pytest
from enumeration import make_chain, make_corpus
from scipy.special import logsumexp
from scipy.stats import binomtest

from sklda._core import random
from sklda._core.count_histograms import CountHistograms
from sklda._core.priors import Priors
from sklda._core.rising import log_rising
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.ellipse import Ellipse
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.methods import estimate
from sklda._models.empirical_bayes.serial_tempering import Grid, GridPoints
from sklda._models.empirical_bayes.settings import Settings, Tempering
from sklda._models.empirical_bayes.tempered_stages import current_curve

REGION = ((0.05, 10.0), (0.05, 10.0))
# By corpus (documents, V, K): log m(eta, alpha) - log m(1, 1), with a row for each alpha and a column for each eta.
_SURFACES = [
    ([[0, 0, 0, 0, 1], [2, 2, 2, 3, 3], [0, 1, 0, 2, 2]], 4, 2, (0.1, 0.5, 5), {
        0.1: (-1.163010288211181, 0.346697889638167, 0.177210205989501),
        0.5: (-1.147436396424659, 0.112101795272264, 0.059477869766606),
        5: (-2.413516257122552, -0.748456973444589, -0.099234141285876),
    }),
    ([[0, 0, 2], [2, 2, 0], [0, 2, 2], [0, 0, 0], [2, 2, 1]], 3, 2, (0.1, 0.5, 5), {
        0.1: (-1.918024258343708, -0.274019200119057, -0.403444104712339),
        0.5: (-0.916281319594125, -0.055952344807398, -0.430353961929474),
        5: (-0.434966851381976, 0.006512460866367, -0.473808582152249),
    }),
    ([[0, 1, 0], [2, 3, 2], [0, 1, 2], [3, 2, 0]], 4, 2, (0.1, 0.5, 5), {
        0.1: (-3.989273462404870, -1.066941213100910, 0.737896468597751),
        0.5: (-3.009132347930565, -0.749717656423576, 0.771626388598154),
        5: (-2.605084384548348, -0.515152890035221, 0.810577120147009),
    }),
    ([[0, 0, 0], [1, 1, 1], [2, 2, 0], [1, 1, 2]], 3, 3, (0.1, 0.5, 5), {
        0.1: (0.780843137725360, 0.946716896956784, 0.307803284970207),
        0.5: (0.599321380371758, 0.367192885326939, 0.133222602114354),
        5: (-0.836846704158282, -0.587043728354695, -0.036338711176411),
    }),
    ([[0, 0, 1], [1, 2, 2], [0, 0, 2]], 3, 2, (0.1, 0.3, 1), {
        0.1: (-2.741220785471, -1.230312903922, -0.104853402456),
        0.3: (-2.090118220698, -0.954862452314, -0.046803908627),
        1: (-1.625575829084, -0.735363335955, 0.000000000000),
        3: (-1.522834073754, -0.687823765240, 0.008190037513),
    }),
]  # fmt: skip
SURFACES = [
    (*model, [(eta, alpha, value) for alpha, row in rows.items() for eta, value in zip(etas, row, strict=True)])
    for *model, etas, rows in _SURFACES
]


ALARM = 4.0
LEVEL = 1e-5


def make_pool(docs, n_features, n_components, seed, n_tuning, max_iter, region=REGION, tempering=None):
    settings = Settings(
        n_tuning=n_tuning,
        max_iter=max_iter,
        error_ratio=0.0,
        region=region,
        grid_is_region=True,
        tempering=Tempering.make({"grid_shape": (7, 7), **(tempering or {})}),
    )
    priors = Priors.make(1.0, 1.0, n_components, n_features)
    return ChainPool(make_corpus(docs, n_features), priors, settings, np.random.SeedSequence(seed), n_chains=4)


def run(*model, method="full_bayes", seed=0, n_tuning=150, max_iter=1000, region=REGION, **options):
    """An estimate on the fixed region, by the whole machinery."""
    with warnings.catch_warnings():
        # The surfaces are flat: their maxima lie at edges.
        warnings.simplefilter("ignore")
        return estimate(make_pool(*model, seed, n_tuning, max_iter, region, options), method)


def largest_z(table, *curves):
    """Of the mean error of independent estimates."""
    eta, alpha, exact = np.array(table).T
    away = (eta != 1) | (alpha != 1)
    value, std = np.swapaxes([curve.log_ratio(alpha[away], eta[away], (1.0, 1.0)) for curve in curves], 0, 1)
    # Where hardly a draw reaches, no error is claimed; that may happen at few points.
    assert np.isfinite(std).mean() > 0.6
    return np.abs((value - exact[away]).sum(axis=0) / np.sqrt((std**2).sum(axis=0))).max()


@pytest.mark.mutation("test_a_wrong_ratio_is_found")
@pytest.mark.parametrize(
    "surface, method",
    [
        pytest.param(surface, method, marks=() if surface in own else pytest.mark.exhaustive)
        for method, own in (("skeleton", (0, 1, 3)), ("full_bayes", (4,)), ("serial_tempering", (2,)))
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
    right = CountHistograms.doc_part

    def without_lengths(self, alpha, order=0):
        return right(self, alpha, order) + self.lengths.sum_of_log_rising(
            np.asarray(alpha) * self.totals.shape[1], order
        )

    *model, table = SURFACES[1]
    monkeypatch.setattr(CountHistograms, "doc_part", without_lengths)
    assert largest_z(table, run(*model).curve) > ALARM


def test_a_wrong_denominator_is_found(monkeypatch):
    """zeta left out of equation 2.10, as if the chains had been full Bayes."""
    monkeypatch.setattr(
        "sklda._models.empirical_bayes.tempered_stages.mixture_denominators",
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


def shares_of_the_variance(n_runs=300, n_chains=4, length=1000, memory=0.97):
    """Estimates of the variance of an autoregression's sum by the exact one."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((length, n_runs * n_chains)) * np.sqrt(1 - memory**2)
    draws[0] = rng.standard_normal(draws.shape[1])
    for before, now in itertools.pairwise(draws):
        now += memory * before
    lags = np.arange(1, length)
    exact = n_chains * (length + 2 * (length - lags) @ memory**lags)
    runs = draws.T.reshape(n_runs, n_chains * length).T
    batches, vectors = Batches.of_chains([length] * n_chains), runs[:, :2]
    estimates = batches.variance(runs)
    np.testing.assert_allclose(np.diag(batches.covariance(vectors)), estimates[:2], rtol=0.5)
    return estimates / exact


@pytest.mark.mutation("test_variances_within_chains_alone_fall_short")
def test_variances_of_slow_chains_do_not_fall_short():
    """Batches of 100 draws that are worth two; the mean of 300 runs has an error of .02."""
    assert 0.95 < shares_of_the_variance().mean() < 1.25


def test_chains_that_stand_apart_are_heard(monkeypatch):
    """Chains that forget in twice their length: batches see a fifth of the variance."""
    share = shares_of_the_variance(memory=0.999).mean()
    monkeypatch.setattr("sklda._models.empirical_bayes.batch_means._BELOW_TRUE", 1 - 1e-12)
    assert shares_of_the_variance(memory=0.999).mean() < 0.35
    assert 0.5 < share < 0.9


def test_variances_within_chains_alone_fall_short(monkeypatch):
    monkeypatch.setattr("sklda._models.empirical_bayes.batch_means._BELOW_TRUE", 1 - 1e-12)
    assert shares_of_the_variance().mean() < 0.95


def test_rising_factorials_and_their_derivatives():
    n = np.array([0, 1, 2, 7, 300])
    for a in (1e-10, 1e-3, 0.7, 30.0, 63.999, 64.0, 1e4, 1e11):
        steps = [np.arange(m) for m in n]
        exact = [
            [np.log(a + i).sum() for i in steps],
            [(a / (a + i)).sum() for i in steps],
            [(a * i / (a + i) ** 2).sum() for i in steps],
        ]
        for order in range(3):
            np.testing.assert_allclose(log_rising([a], n, order)[0], exact[order], rtol=1e-12, atol=1e-11)


def test_histograms_give_the_log_joint_at_any_prior():
    rng = np.random.default_rng(0)
    corpus = make_corpus([rng.integers(9, size=n) for n in (0, 1, 5, 40, 7)], 9)
    chains = [
        make_chain(corpus, Priors.make(0.3, 0.7, 3, 9), rng.integers(3, size=corpus.n_tokens), seed)
        for seed in range(4)
    ]
    draws = CountHistograms.stack([CountHistograms.of(chain) for chain in chains])
    eta, alpha = np.array([1e-3, 0.7, 200.0]), np.array([5.0, 0.02, 90.0])
    for chain, found in zip(chains, draws.doc_part(alpha) + draws.word_part(eta), strict=True):
        for e, a, value in zip(eta, alpha, found, strict=True):
            chain.priors = Priors.make(a, e, 3, 9)
            np.testing.assert_allclose(value, chain.log_joint(), rtol=1e-11)


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


def test_log_dirichlet_of_the_smallest_parameters():
    draws = random.log_dirichlet(np.random.default_rng(0), np.full((50, 30), 1e-8))
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(np.exp(draws).sum(axis=1), 1)


@pytest.mark.mutation
def test_the_total_ellipse_covers_the_true_priors():
    """False-alarm rate 1e-5, for estimates whose errors are normal. The statistical ellipse alone is found too small at
    the same level."""
    rng, n = np.random.default_rng(0), 1500
    statistical, monte_carlo = np.array([[0.04, 0.01], [0.01, 0.02]]), np.array([[0.01, -0.008], [-0.008, 0.02]])
    truth = np.log([0.5, 2.0])
    estimates = rng.multivariate_normal(truth, statistical, n) + rng.multivariate_normal(np.zeros(2), monte_carlo, n)

    def p_value(kind):
        inside = 0
        for log_h in estimates:
            found = Maximum(log_h, monte_carlo, statistical, -np.linalg.inv(statistical), {}, False)
            inside += Ellipse(np.array(found.h), getattr(found, kind), 0.95, kind, REGION).contains(0.5, 2.0)
        return binomtest(inside, n, 0.95).pvalue

    assert p_value("total") > LEVEL
    assert p_value("statistical") < LEVEL


def test_ellipse():
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    ellipse = Ellipse(np.array([0.5, 2.0]), covariance, 0.95, "monte_carlo", REGION)
    ends = np.exp(np.log([[0.5], [2.0]]) + 1.96 * ellipse.standard_errors[:, None] * [-1, 1])
    np.testing.assert_allclose(ellipse.intervals, ends, rtol=1e-4)
    assert f"doc_topic_prior 0.5 ({ends[0, 0]:.3g} to {ends[0, 1]:.3g})" in repr(ellipse)
    edge = ellipse.boundary(50)
    assert edge.shape == (50, 2)
    assert ellipse.contains(doc_topic_prior=0.5, topic_word_prior=2.0)
    assert not ellipse.contains(doc_topic_prior=2.0, topic_word_prior=0.5)
    log_center, log_edge = np.log([0.5, 2.0]), np.log(edge)
    assert ellipse.contains(*np.exp(log_center + 0.999 * (log_edge - log_center)).T).all()
    assert not ellipse.contains(*np.exp(log_center + 1.001 * (log_edge - log_center)).T).any()
    np.testing.assert_allclose(ellipse.standard_errors, [0.2, 0.3])
    open_ended = Ellipse(np.array([0.5, 2.0]), np.diag([np.inf, 0.09]), 0.95, "statistical", REGION)
    np.testing.assert_array_equal(open_ended.intervals[0], [0, np.inf])
    assert open_ended.contains(10.0, 2.0)
    assert not open_ended.contains(0.5, 9.0)
    assert np.isfinite(open_ended.boundary()).all()
