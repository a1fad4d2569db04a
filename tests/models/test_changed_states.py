"""Fitted attributes that were replaced: an answer, or an error that names them."""

import copy
import warnings

import numpy as np
import pytest
from refusals import GOOD

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)

LABELS = np.array([[1, 0], [1, 1]])
FITS = {
    "GibbsLDA": lambda: GibbsLDA(3, max_iter=3, random_state=0).fit(GOOD),
    "CollapsedVariationalLDA": lambda: CollapsedVariationalLDA(3, max_iter=3, random_state=0).fit(GOOD),
    "CompoundLDA": lambda: CompoundLDA(3, max_iter=3, random_state=0).fit(GOOD, collections=["a", "b"]),
    "CovariateLDA": lambda: CovariateLDA(3, max_iter=3, random_state=0).fit(GOOD, covariates=[1, 2]),
    "EmpiricalBayesLDA": lambda: EmpiricalBayesLDA(3, max_iter=10, random_state=0).fit(GOOD),
    "TopicCountLDA": lambda: TopicCountLDA(min_components=3, max_components=3, max_iter=40, random_state=0).fit(GOOD),
    "LabeledLDA": lambda: LabeledLDA(n_shared=1, n_draws=1, random_state=0).fit(GOOD, LABELS),
}
PHI = np.arange(1.0, 10.0).reshape(3, 3)
MATRICES = [
    (np.where(np.eye(3), np.nan, PHI), r"components_\[0\] of the \w+ sums to nan"),
    (np.where(np.eye(3), np.inf, PHI), r"components_\[0\] of the \w+ sums to inf"),
    (PHI - 5, r"components_\[0\] of the \w+ has a negative value"),
    (PHI * [[1], [0], [1]], r"components_\[1\] of the \w+ sums to 0: it is not a distribution"),
    (PHI[:, 1:], "components_ of the .* has 2 features, and X of its fit 3"),
    (np.hstack([PHI, PHI]), "components_ of the .* has 6 features, and X of its fit 3"),
    (PHI[:0], r"components_ of the \w+ has shape \(0, 3\): it is not a matrix"),
    (PHI[0], r"components_ of the \w+ has shape \(3,\): it is not a matrix"),
    (None, r"components_ of the \w+ has shape \(\)"),
    ("x", "components_ of the .* must hold real numbers"),
]
PRIORS = [
    (np.nan, "doc_topic_prior_ = nan: a Dirichlet parameter must lie between 1e-12 and"),
    (0.0, "doc_topic_prior_ = 0: a Dirichlet parameter must lie between"),
    (-1.0, "doc_topic_prior_ = -1: a Dirichlet parameter must lie between"),
    (np.array([1.0, 1.0, np.inf]), r"doc_topic_prior_\[2\] = inf"),
    ([0.1, 0.2], r"doc_topic_prior_ has shape \(2,\); it must be a float, or an array of shape \(3,\)"),
    (np.ones((2, 3)), r"doc_topic_prior_ has shape \(2, 3\)"),
    ("x", "doc_topic_prior_ must hold real numbers"),
]


@pytest.fixture(scope="module", params=FITS)
def fitted(request):
    with warnings.catch_warnings():
        # Chains of three sweeps do not agree.
        warnings.simplefilter("ignore", UserWarning)
        return FITS[request.param]()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_components(fitted):
    if isinstance(fitted, LabeledLDA):
        pytest.skip("its components_ is computed")
    for matrix, message in MATRICES:
        lda = copy.deepcopy(fitted)
        lda.components_ = matrix
        for question in (lda.transform, lda.score, lda.score_samples):
            with pytest.raises((ValueError, TypeError), match=message):
                question(GOOD)


def test_priors(fitted):
    for prior, message in PRIORS:
        lda = copy.deepcopy(fitted)
        lda.doc_topic_prior_ = prior
        for question in (lda.transform, lda.score_samples):
            with pytest.raises((ValueError, TypeError), match=message):
                question(GOOD)


@pytest.mark.parametrize("make", [np.asfortranarray, np.ndarray.tolist, np.float32, lambda phi: phi[::-1][::-1]])
def test_the_same_components_in_another_form(fitted, make, same):
    if isinstance(fitted, LabeledLDA):
        pytest.skip("its components_ is computed")
    lda = copy.deepcopy(fitted)
    lda.components_ = PHI
    expected = lda.transform(GOOD)
    lda.components_ = make(PHI)
    assert same(lda.transform(GOOD), expected)


@pytest.mark.parametrize("spoil", [lambda phi: phi * np.nan, lambda phi: phi * 0, lambda phi: -phi])
def test_a_stream_does_not_go_on_from_what_are_no_counts(spoil):
    lda = CollapsedVariationalLDA(3, random_state=0).partial_fit(GOOD)
    lda.components_ = spoil(lda.components_)
    with pytest.raises(ValueError, match=r"components_\[0\] of the CollapsedVariationalLDA"):
        lda.partial_fit(GOOD)


def test_draws_of_a_word_that_was_taken_out_of_a_topic():
    lda = CollapsedVariationalLDA(3, random_state=0).fit(GOOD)
    lda.components_[1, 2] = 0
    topics = lda.sample_posterior(5, random_state=0).topic_word
    np.testing.assert_allclose(topics.sum(axis=2), 1, rtol=1e-6)
    assert (topics[:, 1, 2] < 1e-6).all()
