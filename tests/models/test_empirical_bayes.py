"""EmpiricalBayesLDA: what it promises as an estimator, what it finds, and the edges."""

import itertools
import pickle
import re
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
from sklda._models.empirical_bayes.settings import run_lengths
from sklda.datasets import make_lda_corpus

QUICK = {"n_tuning": 40, "max_iter": 120, "random_state": 0}
SHORT = {"n_tuning": 2, "max_iter": 8, "n_chains": 2, "tempering": {"grid_shape": (3, 3)}}
TRUTH = {"doc_topic_prior": 0.3, "topic_word_prior": 0.5}


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(80, 20, 2, doc_length=50, **TRUTH, random_state=0).data


def purity(doc_topic, topic_word):
    return (doc_topic**2).sum(axis=1).mean()


@pytest.fixture(scope="module")
def fitted(X):
    functionals = {"purity": purity}
    return EmpiricalBayesLDA(2, max_iter=1500, functionals=functionals, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *estimator_checks_generator(EmpiricalBayesLDA(2, **SHORT), expected_failed_checks=FAILED_CHECKS, mark="xfail"),
        *(
            pytest.param(*pair, marks=pytest.mark.exhaustive)
            for pair in estimator_checks_generator(EmpiricalBayesLDA())
        ),
    ],
    ids=lambda value: getattr(value, "func", value).__name__ if callable(value) else repr(value)[:20],
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_the_truth_lies_in_the_statistical_region(fitted):
    """At level 1 - 1e-4 of a region that is right to leading order. Its fit is slow: eleven tests need its errors."""
    assert fitted.confidence_region(0.9999, "statistical").contains(*TRUTH.values())


@pytest.mark.parametrize("method", ["full_bayes", "serial_tempering"])
def test_methods_agree(X, fitted, method):
    """Each against the other within 4.3 standard errors of the difference: a chi-square of 2 degrees, 1e-4."""
    lda = EmpiricalBayesLDA(2, method=method, n_tuning=100, max_iter=600, random_state=1).fit(X)
    h = [np.log([each.doc_topic_prior_, each.topic_word_prior_]) for each in (fitted, lda)]
    covariance = fitted.confidence_region().covariance + lda.confidence_region().covariance
    away = h[0] - h[1]
    assert away @ np.linalg.solve(covariance, away) < 18.4
    # Errors that small would be found out: the estimates are not the same.
    assert away @ np.linalg.solve(covariance * 1e-6, away) > 18.4


def test_results(X, fitted):
    h = fitted.doc_topic_prior_, fitted.topic_word_prior_
    assert type(h[0]) is type(h[1]) is float
    value, std = fitted.log_marginal_likelihood(*h, return_std=True)
    assert value == std == 0
    alpha, eta = np.meshgrid(h[0] * np.array([0.7, 1, 1.4]), h[1] * np.array([0.7, 1, 1.4]), indexing="ij")
    value, std = fitted.log_marginal_likelihood(alpha, eta, return_std=True)
    assert value.shape == std.shape == (3, 3)
    assert (value <= 0.05).all()
    assert (std >= 0).all()
    # The statistical region is where log m has fallen by half a chi-square, to leading order.
    boundary = fitted.confidence_region(0.95, "statistical").boundary(20)
    np.testing.assert_allclose(fitted.log_marginal_likelihood(*boundary.T), -3.0, atol=1.5)
    kinds = "monte_carlo", "statistical", "total"
    monte_carlo, statistical, total = (fitted.confidence_region(kind=kind) for kind in kinds)
    np.testing.assert_allclose(total.covariance, monte_carlo.covariance + statistical.covariance)
    assert (monte_carlo.standard_errors < statistical.standard_errors).all()
    assert monte_carlo.contains(*h)
    assert fitted.method_ == "skeleton"
    assert fitted.occupancy_.shape == (5, 5)
    assert fitted.occupancy_.sum() == pytest.approx(1)
    assert np.count_nonzero(fitted.occupancy_) == 9
    assert [len(axis) for axis in fitted.grid_] == [5, 5]
    assert 0 < fitted.acceptance_rate_ <= 1
    assert (fitted.r_hat_ < 1.3).all()
    assert (fitted.n_effective_ > 20).all()
    assert fitted.prior_trace_.shape[::2] == (4, 2)
    np.testing.assert_allclose(fitted.prior_trace_[:, -fitted.n_iter_ :], np.tile(h, (4, fitted.n_iter_, 1)))
    assert fitted.log_joint_trace_.shape == (4, fitted.n_iter_)
    np.testing.assert_allclose(fitted.components_.sum(), X.sum() + h[1] * 40, rtol=1e-5)
    assert fitted.n_draws_ == 15
    assert fitted.doc_topic_std_.shape == (80, 2)
    assert len(fitted.chains_) == 4
    assert (fitted.topic_stability_ > 0.9).all()
    assert set(fitted.diagnostics_) == set(fitted.traces_)
    assert fitted.transform(X).shape == (80, 2)
    assert np.isfinite(fitted.score(X))


def test_posterior_expectations(fitted):
    """Between the extremes, larger where alpha is small, and flat beyond what the band allows."""
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
        lda = EmpiricalBayesLDA(
            2,
            method="full_bayes",
            region=REGION,
            n_tuning=50,
            max_iter=700,
            error_ratio=0,
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
@pytest.mark.parametrize("method", ["skeleton", "full_bayes", "serial_tempering", "gibbs_em", "variational_em"])
def test_same_seed_same_answer_for_any_n_jobs(X, method, same):
    X = X[:20]
    lda = EmpiricalBayesLDA(2, method=method, n_tuning=20, max_iter=20, random_state=0).fit(X)
    other = clone(lda).set_params(n_jobs=2).fit(X)
    for name in ("topic_word_prior_", "doc_topic_prior_", "components_", "log_joint_trace_"):
        assert same(getattr(lda, name), getattr(other, name))
    copy = pickle.loads(pickle.dumps(lda))
    assert same(copy.transform(X), lda.transform(X))
    if method in ("gibbs_em", "variational_em"):
        with pytest.raises(ValueError, match="does not estimate the marginal likelihood"):
            lda.log_marginal_likelihood(1, 1)
    else:
        assert copy.log_marginal_likelihood(0.4, 0.4) == lda.log_marginal_likelihood(0.4, 0.4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_own_way(X, fitted):
    lda = EmpiricalBayesLDA(2, method="serial_tempering", tempering="paper", n_tuning=100, max_iter=400, random_state=0)
    lda.fit(X)
    assert fitted.confidence_region(0.999, "statistical").contains(lda.doc_topic_prior_, lda.topic_word_prior_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("factor", [(0.01, 100), (100, 0.01)])
def test_bad_starts(X, fitted, factor):
    start = dict(zip(TRUTH, np.array(list(TRUTH.values())) * factor, strict=True))
    lda = EmpiricalBayesLDA(2, n_tuning=100, max_iter=400, random_state=0, **start).fit(X)
    assert fitted.confidence_region(0.999, "statistical").contains(lda.doc_topic_prior_, lda.topic_word_prior_)


EDGES = {
    # Every document repeats one word of its own kind: alpha falls without end.
    "doc_topic_prior.*lower": (np.kron(np.eye(2, dtype=int), np.full((5, 3), 8)), 2),
    # Words fall alike in all documents: eta rises without end.
    "topic_word_prior.*upper": (np.full((6, 8), 4), 2),
}


@pytest.mark.parametrize("message", EDGES)
def test_maxima_at_an_edge_are_named(message):
    X, K = EDGES[message]
    with pytest.warns(ConvergenceWarning) as caught:
        lda = EmpiricalBayesLDA(K, n_tuning=60, max_iter=200, random_state=0).fit(X)
    assert any(re.search(message, str(each.message)) for each in caught)
    ellipse = lda.confidence_region(kind="statistical")
    assert np.isinf(ellipse.standard_errors).any()
    assert not np.isnan(ellipse.boundary()).any()
    assert not np.isnan(lda.log_marginal_likelihood([0.1, 1, 50], [0.1, 1, 50], return_std=True)).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "X", [np.array([[3, 1, 0, 2]]), np.array([[1, 0]]), sp.csr_array(np.array([[0, 0, 0], [2, 1, 1], [0, 0, 0]]))]
)
@pytest.mark.parametrize("method", ["skeleton", "serial_tempering", "full_bayes", "gibbs_em", "variational_em"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_tiny_corpora_have_a_result(X, method, n_components):
    lda = EmpiricalBayesLDA(n_components, method=method, n_tuning=5, max_iter=10, random_state=0).fit(X)
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
        ({"method": "em"}, ValueError, "method"),
        ({"topic_word_prior": [0.1] * 20}, ValueError, "topic_word_prior must be one number"),
        ({"doc_topic_prior": [0.1, 0.2]}, ValueError, "method='gibbs_em'"),
    ],
)
def test_bad_parameters(X, parameters, error, message):
    lda = EmpiricalBayesLDA(2, **QUICK).set_params(**parameters)
    with pytest.raises(error, match=message):
        lda.fit(X)
    with pytest.raises(NotFittedError):
        lda.transform(X)


def test_bad_questions(fitted):
    with pytest.raises(ValueError, match="there is no functional 'size'"):
        fitted.posterior_expectation("size", 1, 1)
    with pytest.raises(ValueError, match="level must lie"):
        fitted.confidence_region(1)
    with pytest.raises(ValueError, match="kind must be"):
        fitted.confidence_region(kind="bayes")
    with pytest.raises(ValueError, match="doc_topic_prior must lie"):
        fitted.log_marginal_likelihood(0, 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["full_bayes", "serial_tempering"])
def test_alpha_comes_before_eta(X, method):
    region = ((0.05, 1.0), (1.0, 3.0))
    functionals = {"purity": purity}
    lda = EmpiricalBayesLDA(
        2,
        method=method,
        region=region,
        tempering={"grid_shape": (3, 5)},
        functionals=functionals,
        n_chains=2,
        n_tuning=40,
        max_iter=1000,
        random_state=0,
    ).fit(X)
    n_points = {"full_bayes": (9, 17), "serial_tempering": (3, 5)}[method]
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
    given = {"method": "serial_tempering", "region": ((0.3, 0.8), (1.0, 2.0)), "n_chains": 2}
    given |= {"functionals": {"purity": purity}, "max_iter": 400, "n_tuning": 40, "random_state": 0}
    fits = [
        EmpiricalBayesLDA(2, **given, tempering={"estimator": name, "grid_shape": (3, 3)}).fit(X)
        for name in ("mixture", "component")
    ]
    mixture, component = (lda.posterior_expectation("purity", 0.5, 1.5)[0] for lda in fits)
    assert mixture != component
    assert component == pytest.approx(mixture, abs=0.05)


@pytest.mark.parametrize("method", ["gibbs_em", "variational_em"])
def test_em_has_a_trace_of_its_priors(X, method):
    X = X[:20]
    lda = EmpiricalBayesLDA(2, method=method, doc_topic_prior=3.0, topic_word_prior=2.0, n_chains=2, **QUICK).fit(X)
    assert lda.prior_trace_.shape == (2, 120 + 40 if method == "gibbs_em" else 80, 2)
    assert lda.log_joint_trace_.shape == (2, lda.n_iter_) == (2, 40)
    np.testing.assert_allclose(lda.prior_trace_[:, 0], [[3.0, 2.0]] * 2)
    np.testing.assert_allclose(
        lda.prior_trace_[:, -40:], np.broadcast_to([lda.doc_topic_prior_, lda.topic_word_prior_], (2, 40, 2))
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_alpha_for_every_topic(X):
    lda = EmpiricalBayesLDA(2, method="gibbs_em", doc_topic_prior=[0.3, 0.3], **QUICK).fit(X)
    assert lda.doc_topic_prior_.shape == (2,)
    assert lda.prior_trace_[lda.best_chain_, -1, 0] == pytest.approx(lda.doc_topic_prior_.mean())
    assert lda.transform(X).shape == (80, 2)


def test_progress_is_printed(X, capsys):
    EmpiricalBayesLDA(2, n_tuning=50, max_iter=500, verbose=1, random_state=0).fit(X)
    out = capsys.readouterr().out
    for line in (r"chain \d of 4, sweep \d+ of 500", "chains have learnt doc_topic_prior", "draws at 9 points"):
        assert re.search(line, out)


def test_a_fit_ends_when_it_is_precise_enough(X, fitted):
    """A loose tolerance ends it early, with errors below it; a tolerance of zero uses the budget."""
    lengths = {}
    for error_ratio in (0.0, 0.5):
        lda = EmpiricalBayesLDA(2, n_tuning=100, max_iter=1200, error_ratio=error_ratio, random_state=0).fit(X)
        lengths[error_ratio] = lda.prior_trace_.shape[1]
        errors = [lda.confidence_region(kind=kind).standard_errors for kind in ("monte_carlo", "statistical")]
        assert (errors[0] < 0.5 * errors[1]).all()
        assert fitted.confidence_region(0.999, "statistical").contains(lda.doc_topic_prior_, lda.topic_word_prior_)
    assert lengths[0.5] < lengths[0.0] <= 1200


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["skeleton", "full_bayes", "serial_tempering"])
@pytest.mark.parametrize("max_iter", [1, 16, 150])
def test_max_iter_binds(X, method, max_iter, sweeps_made):
    """Over all sweeps that a fit makes, those that start chains included; a grid needs a few at the least."""
    lda = EmpiricalBayesLDA(
        2, method=method, n_tuning=10, max_iter=max_iter, n_chains=2, error_ratio=0, random_state=0
    ).fit(X)
    n_sweeps = sweeps_made()
    assert n_sweeps == 2 * max_iter if method == "skeleton" else max_iter < n_sweeps <= 2 * (max_iter + 2)
    # Too few draws give no error.
    assert max_iter > 16 or np.isinf(lda.confidence_region().standard_errors).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_searches_count_by_the_sweeps_that_they_make(X, sweeps_made):
    """Those of a plan that were not made are left for the chains; without a tolerance, all sweeps are made."""
    lda = EmpiricalBayesLDA(2, max_iter=4500, n_chains=2, error_ratio=0, random_state=0).fit(X)
    assert len(lda.mode_log_evidence_)
    # The share of each chain in the searches is rounded up.
    assert 2 * 4500 - 2 < sweeps_made() <= 2 * 4500


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_single_chain_has_errors(X, fitted):
    lda = EmpiricalBayesLDA(2, n_chains=1, max_iter=3000, random_state=0).fit(X)
    errors = lda.confidence_region().standard_errors
    assert (errors > 0.1 * fitted.confidence_region().standard_errors).all()
    assert np.isfinite(errors).all()
    assert not hasattr(lda, "topic_stability_")


def test_lengths_follow_the_size_of_the_corpus():
    lengths = [(200, 24_000, 4), (107, 600, 4), (40, 500, 2), (40, 1000, 2)]
    assert [run_lengths("skeleton", n) for n in (10**4, 10**5, 10**6, 10**9)] == lengths
    assert run_lengths("skeleton", 10**9, 7, 8, 9) == (7, 8, 9)
    assert run_lengths("gibbs_em", 10**9) == (40, 30, 4)
