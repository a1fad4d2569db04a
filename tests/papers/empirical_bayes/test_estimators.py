"""The estimators of the paper: what they promise, what they find, and the edges."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from enumeration import Enumeration
from old_versions import FAILED_CHECKS
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from sklda import EmpiricalBayesLDA
from sklda._core import random
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import FullBayesLDA, GibbsEMLDA, SerialTemperingLDA, VariationalEMLDA
from sklda.papers.empirical_bayes._settings import SWEEPS_OF_EM, SWEEPS_ON_A_GRID, run_lengths

GRID = [FullBayesLDA, SerialTemperingLDA]
KINDS = [*GRID, GibbsEMLDA, VariationalEMLDA]
QUICK = {"n_tuning": 40, "max_iter": 120, "random_state": 0}
TRUTH = {"doc_topic_prior": 0.3, "topic_word_prior": 0.5}
SHORT = [
    FullBayesLDA(2, n_tuning=2, max_iter=8, n_chains=2, tempering={"grid_shape": (3, 3)}),
    SerialTemperingLDA(2, n_tuning=2, max_iter=8, n_chains=2, tempering={"grid_shape": (3, 3)}),
    GibbsEMLDA(2, n_tuning=2, max_iter=4, n_chains=2),
    VariationalEMLDA(2, n_tuning=2, max_iter=2, n_chains=2),
]


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(80, 20, 2, doc_length=50, **TRUTH, random_state=0).data


def purity(doc_topic, topic_word):
    return (doc_topic**2).sum(axis=1).mean()


@pytest.fixture(scope="module")
def skeleton(X):
    return EmpiricalBayesLDA(2, max_iter=1500, random_state=0).fit(X)


def checks(estimators, *marks):
    """scikit-learn's checks. The suite takes one estimator for each of the two bases."""
    for estimator in estimators:
        for pair in estimator_checks_generator(estimator, expected_failed_checks=FAILED_CHECKS, mark="xfail"):
            parameters = pair if hasattr(pair, "values") else pytest.param(*pair)
            yield pytest.param(*parameters.values, marks=[*parameters.marks, *marks])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [*checks(SHORT[1:3]), *checks([SHORT[0], SHORT[3]], pytest.mark.exhaustive)],
    ids=lambda value: getattr(value, "func", value).__name__ if callable(value) else repr(value)[:20],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", GRID)
def test_methods_agree(X, skeleton, kind):
    """Each against the other within 4.3 standard errors of the difference: a chi-square of 2 degrees, 1e-4."""
    lda = kind(2, n_tuning=100, max_iter=600, random_state=1).fit(X)
    h = [np.log([each.doc_topic_prior_, each.topic_word_prior_]) for each in (skeleton, lda)]
    covariance = skeleton.confidence_region().covariance + lda.confidence_region().covariance
    away = h[0] - h[1]
    assert away @ np.linalg.solve(covariance, away) < 18.4
    # Errors that small would be found out: the estimates are not the same.
    assert away @ np.linalg.solve(covariance * 1e-6, away) > 18.4


def test_posterior_expectations(X):
    """Between the extremes, larger where alpha is small, and flat beyond what the band allows."""
    fitted = FullBayesLDA(2, n_tuning=100, max_iter=800, functionals={"purity": purity}, random_state=0).fit(X)
    alpha = fitted.doc_topic_prior_ * np.array([0.6, 1.0, 1.6])
    value, low, high = fitted.posterior_expectation("purity", alpha, fitted.topic_word_prior_)
    assert value.shape == (3,)
    assert ((value > 0.5) & (value < 1)).all()
    assert (low < value).all()
    assert (value < high).all()
    wider = fitted.posterior_expectation("purity", alpha[1], fitted.topic_word_prior_, level=0.99)
    assert wider[2] - wider[1] > high[1] - low[1]
    assert value[0] > value[2]
    _, low, high = fitted.posterior_expectation("purity", 1e4, 1e4)
    assert (low, high) == (-np.inf, np.inf)
    with pytest.raises(ValueError, match="there is no functional 'size'"):
        fitted.posterior_expectation("size", 1, 1)


DOCS, REGION = [[0, 0, 0, 1], [1, 2, 2, 2], [0, 0, 2, 2]], ((0.1, 5.0), (0.1, 5.0))


@pytest.fixture(scope="module")
def exact_purity():
    """Over nine priors, by enumeration."""
    values = []
    for eta, alpha in itertools.product((0.1, 0.7, 5.0), repeat=2):
        exact = Enumeration(DOCS, 3, 2, alpha, eta)
        a = exact.n_dk + alpha
        total = a.sum(axis=2, keepdims=True)
        values.append(exact.posterior @ (a * (a + 1) / (total * (total + 1))).sum(axis=2).mean(axis=1))
    return np.array(values)


def away_by_band(exact, level, n_seeds):
    """The largest distance from the exact values by half the width of the band, of each seed."""
    X = np.array([np.bincount(doc, minlength=3) for doc in DOCS])
    eta, alpha = np.array(list(itertools.product((0.1, 0.7, 5.0), repeat=2))).T
    largest = []
    for seed in range(n_seeds):
        lda = FullBayesLDA(
            2,
            region=REGION,
            n_tuning=50,
            max_iter=700,
            functionals={"purity": purity},
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            value, low, _ = lda.fit(X).posterior_expectation("purity", alpha, eta, level=level)
        largest.append((np.abs(value - exact) / (value - low)).max())
    return np.array(largest)


def test_bands_cover_the_exact_expectations(exact_purity):
    """Both, each with probability 1 - 1e-5, and not because they are wide: over forty seeds the largest of 25
    distances was .66 of a band of 0.95 in the middle."""
    away = away_by_band(exact_purity, 0.99999, 2)
    assert (away < 1).all()
    assert away.max() > 0.1


def test_a_functional_of_other_draws_is_found(exact_purity, monkeypatch):
    """Proportions drawn with ten times their parameters."""
    draw = random.log_dirichlet
    monkeypatch.setattr(random, "log_dirichlet", lambda rng, a: draw(rng, 10 * a))
    assert (away_by_band(exact_purity, 0.99999, 2) > 1).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_answer_for_any_n_jobs(X, kind, same):
    X = X[:20]
    lda = kind(2, n_tuning=20, max_iter=20, random_state=0).fit(X)
    other = clone(lda).set_params(n_jobs=2).fit(X)
    for name in ("topic_word_prior_", "doc_topic_prior_", "components_", "log_joint_trace_"):
        assert same(getattr(lda, name), getattr(other, name))
    copy = pickle.loads(pickle.dumps(lda))
    assert same(copy.transform(X), lda.transform(X))
    if kind in GRID:
        assert copy.log_marginal_likelihood(0.4, 0.4) == lda.log_marginal_likelihood(0.4, 0.4)
        return
    for ask in (lambda: lda.log_marginal_likelihood(1, 1), lda.confidence_region):
        with pytest.raises(ValueError, match=f"{kind.__name__} does not estimate the marginal likelihood"):
            ask()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_own_way(X, skeleton):
    lda = SerialTemperingLDA(2, tempering="paper", n_tuning=100, max_iter=400, random_state=0)
    lda.fit(X)
    assert skeleton.confidence_region(0.999, "statistical").contains(lda.doc_topic_prior_, lda.topic_word_prior_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "X", [np.array([[3, 1, 0, 2]]), np.array([[1, 0]]), sp.csr_array(np.array([[0, 0, 0], [2, 1, 1], [0, 0, 0]]))]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_components", [1, 2])
def test_tiny_corpora_have_a_result(X, kind, n_components):
    lda = kind(n_components, n_tuning=5, max_iter=10, random_state=0).fit(X)
    assert np.isfinite([lda.topic_word_prior_, lda.doc_topic_prior_]).all()
    assert np.isfinite(lda.components_).all()
    assert np.isfinite(lda.score(X))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"region": (1, 2)}, ValueError, "region must be"),
        ({"region": ((0.1, 0.1), (0.1, 1))}, ValueError, "low < high"),
        ({"region": ((0, 1), (0.1, 1))}, ValueError, "between 1e-12"),
        ({"tempering": {"grid_shape": (1, 5)}}, ValueError, "must be two whole numbers"),
        ({"functionals": {"a": 3}}, TypeError, "must be a function"),
        ({"tempering": {"ratio": "none"}}, ValueError, "must be one of"),
        ({"tempering": {"speed": 3}}, ValueError, "no option 'speed'"),
        ({"topic_word_prior": [0.1] * 20}, ValueError, "topic_word_prior must be one number"),
        ({"doc_topic_prior": [0.1, 0.2]}, ValueError, "doc_topic_prior must be one number"),
    ],
)
def test_bad_parameters(X, parameters, error, message):
    lda = SerialTemperingLDA(2, **QUICK).set_params(**parameters)
    with pytest.raises(error, match=message):
        lda.fit(X)
    with pytest.raises(NotFittedError):
        lda.transform(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", GRID)
def test_alpha_comes_before_eta(X, kind):
    region = ((0.05, 1.0), (1.0, 3.0))
    functionals = {"purity": purity}
    lda = kind(
        2,
        region=region,
        tempering={"grid_shape": (3, 5)},
        functionals=functionals,
        n_chains=2,
        n_tuning=40,
        max_iter=1000,
        random_state=0,
    ).fit(X)
    n_points = {FullBayesLDA: (9, 17), SerialTemperingLDA: (3, 5)}[kind]
    assert lda.occupancy_.shape == n_points
    assert tuple(len(axis) for axis in lda.grid_) == n_points
    for axis, (low, high) in enumerate(region):
        np.testing.assert_allclose(lda.grid_[axis][[0, -1]], [low, high])
        assert ((lda.prior_trace_[:, :, axis] >= low * 0.999) & (lda.prior_trace_[:, :, axis] <= high * 1.001)).all()
    h = lda.doc_topic_prior_, lda.topic_word_prior_
    assert all(low * 0.999 <= prior <= high * 1.001 for prior, (low, high) in zip(h, region, strict=True))
    assert lda.log_marginal_likelihood(*h) == 0
    for kind in ("monte_carlo", "statistical", "total"):
        ellipse = lda.confidence_region(kind=kind)
        np.testing.assert_allclose(ellipse.center, h)
        assert ellipse.region == region
        # eta has its maximum below the region, alpha within it.
        assert np.isinf(ellipse.standard_errors).tolist() == [False, True]
    with_purity = [lda.posterior_expectation("purity", alpha, h[1])[0] for alpha in (0.1, 0.9)]
    assert with_purity[0] > with_purity[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_expectations_have_the_estimator_that_is_asked_for(X):
    """The draws are the same, and their weights are not."""
    given = {"region": ((0.3, 0.8), (1.0, 2.0)), "n_chains": 2}
    given |= {"functionals": {"purity": purity}, "max_iter": 400, "n_tuning": 40, "random_state": 0}
    fits = [
        SerialTemperingLDA(2, **given, tempering={"estimator": name, "grid_shape": (3, 3)}).fit(X)
        for name in ("mixture", "component")
    ]
    mixture, component = (lda.posterior_expectation("purity", 0.5, 1.5)[0] for lda in fits)
    assert mixture != component
    assert component == pytest.approx(mixture, abs=0.05)


@pytest.mark.parametrize("kind", [GibbsEMLDA, VariationalEMLDA])
def test_em_has_a_trace_of_its_priors(X, kind):
    X = X[:20]
    lda = kind(2, doc_topic_prior=3.0, topic_word_prior=2.0, n_chains=2, **QUICK).fit(X)
    assert lda.prior_trace_.shape == (2, 120 + 40 if kind is GibbsEMLDA else 80, 2)
    assert lda.log_joint_trace_.shape == (2, lda.n_iter_) == (2, 40)
    np.testing.assert_allclose(lda.prior_trace_[:, 0], [[3.0, 2.0]] * 2)
    np.testing.assert_allclose(
        lda.prior_trace_[:, -40:], np.broadcast_to([lda.doc_topic_prior_, lda.topic_word_prior_], (2, 40, 2))
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_alpha_for_every_topic(X):
    lda = GibbsEMLDA(2, doc_topic_prior=[0.3, 0.3], **QUICK).fit(X)
    assert lda.doc_topic_prior_.shape == (2,)
    assert lda.prior_trace_[lda.best_chain_, -1, 0] == pytest.approx(lda.doc_topic_prior_.mean())
    assert lda.transform(X).shape == (80, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", GRID)
@pytest.mark.parametrize("max_iter", [1, 16, 150])
def test_max_iter_binds(X, kind, max_iter, sweeps_made):
    """Over all sweeps that a fit makes, those that start chains included; a grid needs a few at the least."""
    lda = kind(2, n_tuning=10, max_iter=max_iter, n_chains=2, random_state=0).fit(X)
    assert max_iter < sweeps_made() <= 2 * (max_iter + 2)
    # Too few draws give no error.
    assert max_iter > 16 or np.isinf(lda.confidence_region().standard_errors).all()


def test_lengths_follow_the_size_of_the_corpus():
    assert run_lengths(SWEEPS_ON_A_GRID, 10**5, None, None, None) == (200, 1600, 4)
    assert run_lengths(SWEEPS_OF_EM, 10**9, None, None, None) == (40, 30, 4)
    assert run_lengths(SWEEPS_OF_EM, 10**9, 7, 8, 9) == (7, 8, 9)
