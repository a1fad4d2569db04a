"""Corpora and priors that are legal though odd: few tokens, empty documents, unseen words, extreme priors."""

import numpy as np
import pytest
from refusals import TEXTS, make
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline


def check(lda, X):
    """Everything finite, positive and of the right sum."""
    X = np.asarray(X)
    theta = lda.fit_transform(X)
    K, alpha = lda.n_components, np.broadcast_to(lda.doc_topic_prior_, lda.n_components)
    assert lda.topic_assignments_.shape == (X.sum(),)
    for rows in (theta, lda.doc_topic_):
        assert rows.shape == (len(X), K)
        assert (rows > 0).all()
        # doc_topic_ is in single precision.
        rounding = 10 * np.finfo(rows.dtype).eps
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=rounding)
        for row in rows[X.sum(axis=1) == 0]:
            np.testing.assert_allclose(row, alpha / alpha.sum(), rtol=rounding)
    assert (lda.components_ > 0).all()
    assert np.isfinite(lda.components_).all()
    assert np.isfinite(lda.log_joint_trace_).all()
    np.testing.assert_allclose(lda.topic_word_.sum(axis=1), 1)


@pytest.mark.parametrize("n_components", [1, 2, 16, 17, 40])
@pytest.mark.parametrize(
    "X",
    [
        [[1]],
        [[5]],
        [[1, 0, 0]],
        [[2, 1, 0, 3]],
        [[1], [2], [0]],
        [[0, 0], [1, 0], [0, 0]],
        [[0, 3], [0, 0], [2, 1], [0, 0]],
    ],
    ids=[
        "one token",
        "one word",
        "one document of one token",
        "one document",
        "V = 1",
        "empty around",
        "empty between",
    ],
)
def test_small_corpora(n_components, X):
    for point_estimate in ("cgs_p", "cgs"):
        check(make(n_components=n_components, point_estimate=point_estimate), X)
    check(make(n_components=n_components, doc_topic_prior=np.arange(1, n_components + 1), n_chains=2), X)
    check(make(n_components=n_components, topic_word_prior=np.ones((n_components, len(X[0])))), X)


def test_one_component_is_the_word_frequencies(counts):
    lda = make(n_components=1, topic_word_prior=0.5).fit(counts)
    np.testing.assert_allclose(lda.components_[0], counts.toarray().sum(axis=0) + 0.5)
    np.testing.assert_array_equal(lda.doc_topic_, 1)
    np.testing.assert_array_equal(lda.transform(counts), 1)


def test_empty_documents_get_the_prior_mean():
    alpha = [0.1, 0.3, 0.6]
    lda = make(doc_topic_prior=alpha).fit([[2, 1], [0, 0], [1, 3]])
    np.testing.assert_allclose(lda.doc_topic_[1], alpha)
    np.testing.assert_allclose(lda.transform(np.zeros((2, 2))), [alpha, alpha])
    np.testing.assert_allclose(lda.transform(np.zeros((1, 2)), normalize=False), [alpha])


def test_words_that_the_fit_never_saw():
    """A word without a token in the fit has the prior in every topic and moves proportions by it alone."""
    lda = make(max_iter=50).fit([[4, 0, 0], [0, 0, 5], [3, 0, 1]])
    assert np.isfinite(lda.transform([[0, 9, 0], [1, 9, 0]])).all()


def test_documents_without_a_known_word():
    """A vectorizer drops unknown words: what is left is an empty document."""
    pipeline = make_pipeline(CountVectorizer(), make(doc_topic_prior=[1, 2, 1])).fit(TEXTS)
    np.testing.assert_allclose(pipeline.transform(["zebra giraffe", ""]), [[0.25, 0.5, 0.25]] * 2)


def test_extreme_priors(counts):
    for alpha in (1e-12, 1e12):
        for eta in (1e-12, 1e12):
            check(make(doc_topic_prior=alpha, topic_word_prior=eta), counts.toarray())
            check(make(doc_topic_prior=alpha, topic_word_prior=np.full((3, 60), eta)), counts.toarray())


def test_more_topics_than_tokens():
    check(make(n_components=100), [[2, 1], [1, 0]])
