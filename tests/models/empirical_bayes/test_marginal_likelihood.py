"""m(h) against rational arithmetic, with errors that hold, and mutations that are found.

Errors are batch means of four chains; an alarm is four of them at a point: for nine points of a surface, correlated and
with about 36 degrees of freedom, less than 9 * 3e-4. The seeds are the first ones tried.
"""

import itertools
import warnings

import numpy as np
import pytest
from enumeration import make_chain, make_corpus
from prior_surfaces import REGION, SURFACES, largest_z, without_lengths
from scipy.stats import binomtest

from sklda._core import random
from sklda._core.count_histograms import CountHistograms
from sklda._core.priors import Priors
from sklda._core.rising import log_rising
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.chain_pool import ChainPool
from sklda._models.empirical_bayes.ellipse import Ellipse
from sklda._models.empirical_bayes.estimate import estimate
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.settings import Settings

ALARM = 4.0
LEVEL = 1e-5


def run(docs, n_features, n_components, seed=0):
    """An estimate by the whole machinery."""
    settings = Settings(n_last=60, max_iter=500, error_ratio=0.0, region=REGION)
    priors = Priors.make(1.0, 1.0, n_components, n_features)
    pool = ChainPool(make_corpus(docs, n_features), priors, settings, np.random.SeedSequence(seed), n_chains=4)
    with warnings.catch_warnings():
        # The surfaces are flat: their maxima lie at edges.
        warnings.simplefilter("ignore")
        return estimate(pool)


@pytest.mark.mutation("test_a_wrong_ratio_is_found")
@pytest.mark.parametrize(
    "surface", [pytest.param(i, marks=() if i in (0, 1, 3) else pytest.mark.exhaustive) for i in range(5)]
)
def test_log_ratios_are_exact_within_their_errors(surface):
    *model, table = SURFACES[surface]
    runs = [run(*model, seed=seed) for seed in range(3)]
    assert largest_z(table, *(found.curve for found in runs)) < ALARM
    for found in runs:
        assert found.occupancy.sum() == pytest.approx(1)


def test_a_wrong_ratio_is_found(monkeypatch):
    *model, table = SURFACES[1]
    monkeypatch.setattr(CountHistograms, "doc_part", without_lengths)
    assert largest_z(table, run(*model).curve) > ALARM


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
