"""Leave-one-out scores of fitted models and of arrays."""

import numpy as np
import pytest
from enumeration import rising
from sklearn.exceptions import NotFittedError

from sklda import CompoundLDA, GibbsLDA, LabeledLDA
from sklda.datasets import make_lda_corpus
from sklda.papers.held_out import leave_one_out_score


def test_one_topic_is_exact():
    X = np.array([[3, 0, 1], [0, 0, 0], [1, 2, 0], [0, 300, 5]])
    eta, m = 0.3, X.sum(axis=0)
    whole, rest = rising(np.full((1, 3), eta), m[None]), [rising(np.full((1, 3), eta), (m - x)[None]) for x in X]
    score = leave_one_out_score((np.zeros(X.sum(), int), 0.5, eta), X, n_draws=10, random_state=0)
    np.testing.assert_allclose(score.log_likelihood, whole - np.array(rest), rtol=1e-5)
    assert score.std < 1e-4


def test_more_topics_than_tokens():
    X = np.array([[1, 0], [0, 1]])
    score = leave_one_out_score(([0, 1], 0.1, 0.1), X, n_components=40, n_draws=10, random_state=0)
    assert np.isfinite(score.log_likelihood).all() and (score.log_likelihood < 0).all()


@pytest.fixture(scope="module")
def fitted():
    X = make_lda_corpus(30, 25, 3, doc_length=(0, 40), doc_topic_prior=0.2, topic_word_prior=0.2, random_state=0).data
    return X, GibbsLDA(3, doc_topic_prior=0.2, topic_word_prior=0.2, max_iter=200, random_state=0).fit(X)


def test_score(fitted, same):
    X, lda = fitted
    score = leave_one_out_score(lda, X, n_draws=20, random_state=0)
    assert score.score == score.log_likelihood.mean()
    assert score.lower - 0.5 < score.score < score.upper + 0.5
    assert 0 < score.std < 0.5 and (score.log_likelihood_std >= 0).all()
    assert same(dict(score), dict(leave_one_out_score(lda, X, n_draws=20, random_state=0, n_jobs=2)))
    arrays = (lda.topic_assignments_, lda.doc_topic_prior_, lda.topic_word_prior_)
    assert same(dict(score), dict(leave_one_out_score(arrays, X.toarray(), n_draws=20, n_components=3, random_state=0)))
    # Another seed agrees within the errors stated; 8 of them, for chains that forget slowly.
    again = leave_one_out_score(lda, X, n_draws=20, random_state=1)
    assert abs(again.score - score.score) < 8 * np.hypot(again.std, score.std)


def test_better_priors_score_better(fitted):
    X, lda = fitted
    scores = [
        leave_one_out_score((lda.topic_assignments_, alpha, eta), X, n_components=3, n_draws=20, random_state=0).score
        for eta, alpha in [(0.2, 0.2), (20, 0.2), (0.2, 20), (0.002, 0.2)]
    ]
    assert max(scores[1:]) < scores[0] - 0.5


def test_some_documents(fitted):
    X, lda = fitted
    lengths = np.asarray(X.sum(axis=1)).ravel()
    rows = [3, int(np.argmin(lengths)), 3]
    some = leave_one_out_score(lda, X, rows=rows, n_draws=20, random_state=0)
    assert some.log_likelihood.shape == (3,)
    assert lengths[rows[1]] > 0 or some.log_likelihood[1] == 0


@pytest.mark.parametrize("scale", [1e-12, 0.01, 100, 1e12])
def test_extreme_priors(fitted, scale):
    X, lda = fitted
    prior = float(np.clip(0.2 * scale, 1e-12, 1e12))
    arrays = (lda.topic_assignments_, prior, prior)
    score = leave_one_out_score(arrays, X, rows=[0, 1, 2], n_draws=10, n_components=3, random_state=0)
    assert np.isfinite(score.log_likelihood).all()


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"n_draws": 9}, ValueError, "n_draws must be at least 10, got 9"),
        ({"n_temperatures": 0}, ValueError, "n_temperatures must be at least 1, got 0"),
        ({"n_draws": 10.5}, TypeError, "n_draws must be an int, got 10.5"),
        ({"rows": [30]}, ValueError, "rows holds 30; X has rows 0 to 29"),
        ({"rows": [-1]}, ValueError, "rows holds -1"),
        ({"rows": []}, ValueError, "rows must be numbers of rows"),
        ({"rows": [True]}, ValueError, "rows must be numbers of rows"),
        ({"n_components": 3}, ValueError, "n_components is for a triple"),
        ({"estimator": GibbsLDA()}, NotFittedError, "This GibbsLDA instance is not fitted yet"),
        ({"estimator": object()}, TypeError, "object has no topic_assignments_"),
        ({"estimator": ([0, 1], 0.1)}, ValueError, r"a tuple of 2; .* a triple \(topic_assignments, doc"),
        ({"estimator": ([0, 1], 0.1, 0.1)}, ValueError, r"topic_assignments has shape \(2,\); X has"),
    ],
)
def test_bad_input(fitted, options, error, message):
    X, lda = fitted
    with pytest.raises(error, match=message):
        leave_one_out_score(**{"X": X, "estimator": lda} | options)


def test_another_corpus_than_that_of_the_fit(fitted):
    """The same counts in another order of documents or words have other tokens."""
    X, lda = fitted
    assert (X.sum(axis=1) > 0).any()
    for other in (X[::-1], X[:, ::-1], X.astype(bool).astype(int)):
        with pytest.raises(ValueError, match="X is different"):
            leave_one_out_score(lda, other, n_draws=10)
    options = {"rows": [0], "n_draws": 10, "random_state": 0}
    assert leave_one_out_score(lda, X.toarray().astype(float), **options) == leave_one_out_score(lda, X, **options)


def test_models_whose_documents_have_labels(fitted):
    X = fitted[0]
    labels = np.arange(30) % 2
    labelled = LabeledLDA(n_shared=1, n_chains=1, burn_in=1, n_draws=1).fit(X, labels)
    with pytest.raises(TypeError, match="LabeledLDA has labels of documents"):
        leave_one_out_score(labelled, X, n_draws=10)
    with pytest.raises(TypeError, match="CompoundLDA has collections of documents"):
        leave_one_out_score(CompoundLDA(2, max_iter=2).fit(X, collections=labels), X, n_draws=10)


@pytest.mark.parametrize("topic", [-1, 3, 2**31 - 1, 2**32, 2**32 + 1])
def test_topics_out_of_range(fitted, topic):
    X, lda = fitted
    topics = np.full(len(lda.topic_assignments_), topic)
    with pytest.raises(ValueError, match=f"{topic} to {topic}; .*n_components=3"):
        leave_one_out_score((topics, 0.1, 0.1), X, n_components=3)
