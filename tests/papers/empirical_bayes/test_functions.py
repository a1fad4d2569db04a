"""The functions of the paper: what they find, and the edges."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from enumeration import Enumeration
from sklearn.exceptions import ConvergenceWarning

from sklda import EmpiricalBayesLDA
from sklda._core import random
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import full_bayes, gibbs_em, serial_tempering, variational_em
from sklda.papers.empirical_bayes._settings import SWEEPS_OF_EM, SWEEPS_ON_A_GRID, checked_lengths

GRID = [full_bayes, serial_tempering]
KINDS = [*GRID, gibbs_em, variational_em]
TRUTH = {"doc_topic_prior": 0.3, "topic_word_prior": 0.5}


def lengths(kind, n_tuning, max_iter):
    """The options of these names; Gibbs-EM has no tuning."""
    return {"max_iter": max_iter} if kind is gibbs_em else {"n_tuning": n_tuning, "max_iter": max_iter}


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(80, 20, 2, doc_length=50, **TRUTH, random_state=0).data


def purity(doc_topic, topic_word):
    return (doc_topic**2).sum(axis=1).mean()


@pytest.fixture(scope="module")
def skeleton(X):
    return EmpiricalBayesLDA(2, max_iter=1500, random_state=0).fit(X)


@pytest.mark.parametrize("kind", GRID)
def test_methods_agree(X, skeleton, kind):
    """Each against the other within 4.3 standard errors of the difference: a chi-square of 2 degrees, 1e-4."""
    lda = kind(X, 2, n_tuning=100, max_iter=600, random_state=1)
    h = np.log([[skeleton.doc_topic_prior_, skeleton.topic_word_prior_], [lda.doc_topic_prior, lda.topic_word_prior]])
    covariance = skeleton.confidence_region().covariance + lda.confidence_region().covariance
    away = h[0] - h[1]
    assert away @ np.linalg.solve(covariance, away) < 18.4
    # Errors that small would be found out: the estimates are not the same.
    assert away @ np.linalg.solve(covariance * 1e-6, away) > 18.4


def test_posterior_expectations(X):
    """Between the extremes, larger where alpha is small, and flat beyond what the band allows."""
    fitted = full_bayes(X, 2, n_tuning=100, max_iter=800, functionals={"purity": purity}, random_state=0)
    alpha = fitted.doc_topic_prior * np.array([0.6, 1.0, 1.6])
    value, low, high = fitted.posterior_expectation("purity", alpha, fitted.topic_word_prior)
    assert value.shape == (3,)
    assert ((value > 0.5) & (value < 1)).all()
    assert (low < value).all()
    assert (value < high).all()
    wider = fitted.posterior_expectation("purity", alpha[1], fitted.topic_word_prior, level=0.99)
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
        options = {"region": REGION, "n_tuning": 50, "max_iter": 700, "functionals": {"purity": purity}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = full_bayes(X, 2, **options, random_state=seed)
        value, low, _ = found.posterior_expectation("purity", alpha, eta, level=level)
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_own_way(X, skeleton):
    found = serial_tempering(X, 2, tempering="paper", n_tuning=100, max_iter=400, random_state=0)
    assert skeleton.confidence_region(0.999, "statistical").contains(found.doc_topic_prior, found.topic_word_prior)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "X", [np.array([[3, 1, 0, 2]]), np.array([[1, 0]]), sp.csr_array(np.array([[0, 0, 0], [2, 1, 1], [0, 0, 0]]))]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_components", [1, 2])
def test_tiny_corpora_have_a_result(X, kind, n_components):
    found = kind(X, n_components, **lengths(kind, 5, 10), random_state=0)
    assert np.isfinite([found.topic_word_prior, found.doc_topic_prior]).all()
    assert np.isfinite(found.model.components_).all()
    assert np.isfinite(found.model.score(X))


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
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    ],
)
def test_bad_parameters(X, parameters, error, message):
    with pytest.raises(error, match=message):
        serial_tempering(X, 2, **{"n_tuning": 40, "max_iter": 120} | parameters)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", GRID)
def test_alpha_comes_before_eta(X, kind):
    region = ((0.05, 1.0), (1.0, 3.0))
    functionals = {"purity": purity}
    lda = kind(
        X,
        2,
        region=region,
        tempering={"grid_shape": (3, 5)},
        functionals=functionals,
        n_chains=2,
        n_tuning=40,
        max_iter=1500,
        random_state=0,
    )
    n_points = {full_bayes: (9, 17), serial_tempering: (3, 5)}[kind]
    assert lda.occupancy.shape == n_points
    assert tuple(len(axis) for axis in lda.grid) == n_points
    for axis, (low, high) in enumerate(region):
        np.testing.assert_allclose(lda.grid[axis][[0, -1]], [low, high])
        assert ((lda.prior_trace[:, :, axis] >= low * 0.999) & (lda.prior_trace[:, :, axis] <= high * 1.001)).all()
    h = lda.doc_topic_prior, lda.topic_word_prior
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
        serial_tempering(X, 2, **given, tempering={"estimator": name, "grid_shape": (3, 3)})
        for name in ("mixture", "component")
    ]
    mixture, component = (lda.posterior_expectation("purity", 0.5, 1.5)[0] for lda in fits)
    assert mixture != component
    assert component == pytest.approx(mixture, abs=0.05)


def test_gibbs_em_has_a_trace_of_its_priors(X):
    found = gibbs_em(X[:20], 2, start=(3.0, 2.0), n_chains=2, max_iter=120, random_state=0)
    assert found.prior_trace.shape == (2, 120, 2)
    np.testing.assert_allclose(found.prior_trace[:, 0], [[3.0, 2.0]] * 2)


@pytest.mark.parametrize(("function", "start"), [(gibbs_em, (None, [0.1] * 20)), (variational_em, ([0.1, 0.2], None))])
def test_first_priors_are_numbers(X, function, start):
    with pytest.raises(ValueError, match="one alpha and one eta"):
        function(X, 2, start=start)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_alpha_for_every_topic(X):
    found = gibbs_em(X, 2, start=([0.3, 0.3], None), max_iter=120, random_state=0)
    assert found.doc_topic_prior.shape == (2,)
    np.testing.assert_array_equal(found.model.doc_topic_prior_, found.doc_topic_prior)


def test_a_band_is_infinite_where_no_draws_reach(X):
    """Without any spread, too."""
    options = {"region": ((0.05, 5), (0.05, 5)), "functionals": {"first": lambda *_: 0.5}, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = full_bayes(X[5:12], 2, n_tuning=2, max_iter=2, **options)
    bands = found.posterior_expectation("first", [1e12, 1e-12], 1e12)[1:]
    assert [each.tolist() for each in bands] == [[-np.inf] * 2, [np.inf] * 2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", GRID)
@pytest.mark.parametrize("max_iter", [1, 16, 150])
def test_max_iter_binds(X, kind, max_iter, sweeps_made):
    """Over all sweeps that a fit makes, those that start chains included; a grid needs a few at the least."""
    lda = kind(X, 2, n_tuning=10, max_iter=max_iter, n_chains=2, random_state=0)
    assert max_iter < sweeps_made() <= 2 * (max_iter + 2)
    # Too few draws give no error.
    assert max_iter > 16 or np.isinf(lda.confidence_region().standard_errors).all()


def test_lengths_follow_the_size_of_the_corpus():
    assert checked_lengths(SWEEPS_ON_A_GRID, 10**5, None, None, None) == (200, 1600, 4)
    assert checked_lengths(SWEEPS_OF_EM, 10**9, None, None, None) == (40, 30, 4)
    assert checked_lengths(SWEEPS_OF_EM, 10**9, 7, 8, 9) == (7, 8, 9)
