"""EmpiricalBayesLDA: what it promises as an estimator, what it finds, and the edges."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from old_versions import FAILED_CHECKS
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from sklda import EmpiricalBayesLDA
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.settings import run_lengths
from sklda.datasets import make_lda_corpus

SHORT = {"max_iter": 4, "n_chains": 1}
TRUTH = {"doc_topic_prior": 0.3, "topic_word_prior": 0.5}


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(80, 20, 2, doc_length=50, **TRUTH, random_state=0).data


@pytest.fixture(scope="module")
def fitted(X):
    return EmpiricalBayesLDA(2, max_iter=1500, random_state=0).fit(X)


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


def test_results(X, fitted):
    h = fitted.doc_topic_prior_, fitted.topic_word_prior_
    assert type(h[0]) is type(h[1]) is float
    value, std = fitted.log_marginal_likelihood(*h, return_std=True)
    assert value == std == 0
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.log_marginal_likelihood(0.4, 0.4) == fitted.log_marginal_likelihood(0.4, 0.4)
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
    assert fitted.occupancy_.shape == (5, 5)
    assert fitted.occupancy_.sum() == pytest.approx(1)
    assert np.count_nonzero(fitted.occupancy_) == 9
    assert [len(axis) for axis in fitted.grid_] == [5, 5]
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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("factor", [(0.01, 100), (100, 0.01)])
def test_bad_starts(X, fitted, factor, monkeypatch):
    far = np.multiply(list(TRUTH.values()), factor)
    first = SimpleNamespace(make=lambda alpha, eta, *shape: Priors.make(*far, *shape))
    monkeypatch.setattr("sklda._models.empirical_bayes.estimator.Priors", first)
    lda = EmpiricalBayesLDA(2, max_iter=400, random_state=0).fit(X)
    assert (lda.prior_trace_[:, 0] != fitted.prior_trace_[:, 0]).all()
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
        lda = EmpiricalBayesLDA(K, max_iter=200, random_state=0).fit(X)
    assert any(re.search(message, str(each.message)) for each in caught)
    ellipse = lda.confidence_region(kind="statistical")
    assert np.isinf(ellipse.standard_errors).any()
    assert not np.isnan(ellipse.boundary()).any()
    assert not np.isnan(lda.log_marginal_likelihood([0.1, 1, 50], [0.1, 1, 50], return_std=True)).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "X", [np.array([[3, 1, 0, 2]]), np.array([[1, 0]]), sp.csr_array(np.array([[0, 0, 0], [2, 1, 1], [0, 0, 0]]))]
)
@pytest.mark.parametrize("n_components", [1, 2])
def test_tiny_corpora_have_a_result(X, n_components):
    lda = EmpiricalBayesLDA(n_components, max_iter=10, random_state=0).fit(X)
    assert np.isfinite([lda.topic_word_prior_, lda.doc_topic_prior_]).all()
    assert np.isfinite(lda.components_).all()
    assert np.isfinite(lda.score(X))


def test_no_prior_is_given(X):
    """Where all other models fix a prior that is given."""
    with pytest.raises(TypeError, match="doc_topic_prior"):
        EmpiricalBayesLDA(2, doc_topic_prior=0.5)


def test_bad_questions(fitted):
    with pytest.raises(ValueError, match="level must lie"):
        fitted.confidence_region(1)
    with pytest.raises(ValueError, match="kind must be"):
        fitted.confidence_region(kind="bayes")
    with pytest.raises(ValueError, match="doc_topic_prior must lie"):
        fitted.log_marginal_likelihood(0, 1)


def test_progress_is_printed(X, capsys):
    EmpiricalBayesLDA(2, max_iter=500, verbose=1, random_state=0).fit(X)
    out = capsys.readouterr().out
    for line in (r"chain \d of 4, sweep \d+ of 500", "chains have learnt doc_topic_prior", "draws at 9 points"):
        assert re.search(line, out)


def test_a_fit_ends_when_it_is_precise_enough(X, fitted):
    """A loose tolerance ends it early, with errors below it; a tolerance of zero uses the budget."""
    lengths = {}
    for error_ratio in (0.0, 0.5):
        lda = EmpiricalBayesLDA(2, max_iter=1200, error_ratio=error_ratio, random_state=0).fit(X)
        lengths[error_ratio] = lda.prior_trace_.shape[1]
        errors = [lda.confidence_region(kind=kind).standard_errors for kind in ("monte_carlo", "statistical")]
        assert (errors[0] < 0.5 * errors[1]).all()
        assert fitted.confidence_region(0.999, "statistical").contains(lda.doc_topic_prior_, lda.topic_word_prior_)
    assert lengths[0.5] < lengths[0.0] <= 1200


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 16, 150])
def test_max_iter_binds(X, max_iter, sweeps_made):
    """Over all sweeps that a fit makes, those that start chains included."""
    lda = EmpiricalBayesLDA(2, max_iter=max_iter, n_chains=2, error_ratio=0, random_state=0).fit(X)
    assert sweeps_made() == 2 * max_iter
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
    assert [run_lengths(n) for n in (10**4, 10**5, 10**6, 10**9)] == lengths
    assert run_lengths(10**9, 8, 9) == (40, 8, 9)
