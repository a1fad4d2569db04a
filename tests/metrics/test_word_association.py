"""Word association: the formula, an enumeration of two tokens, and bad cues."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CollapsedVariationalLDA, CovariateLDA, GibbsLDA
from sklda.inspection import describe
from sklda.metrics import word_association

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
ALPHA = np.array([0.2, 0.5, 1.0])
TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]


@pytest.mark.parametrize("cue", range(4))
def test_two_tokens_of_one_topic(cue):
    """The joint distribution of topic, first word and second word, summed."""
    joint = np.einsum("k,kc,kw->cw", ALPHA / ALPHA.sum(), PHI, PHI)
    np.testing.assert_allclose(word_association((PHI, ALPHA), cue=cue), joint[cue] / joint[cue].sum())
    equal = np.einsum("kc,kw->cw", PHI, PHI)
    for model in (PHI, 7 * PHI, (PHI, 0.3)):
        np.testing.assert_allclose(word_association(model, cue=cue), equal[cue] / equal[cue].sum())
    assert np.abs(word_association((PHI, ALPHA), cue=cue) - word_association(PHI, cue=cue)).max() > 0.01


def test_the_mean_of_a_product_is_the_product_of_means_times_a_factor():
    """The notes on unknown topics: draws of phi given counts."""
    parameter = np.array([3.0, 1.5, 0.7])
    draws = np.random.default_rng(0).dirichlet(parameter, 400_000)
    found = (draws[:, 0] * draws[:, 1]).mean()
    mean, s = parameter / parameter.sum(), parameter.sum()
    assert found == pytest.approx(mean[0] * mean[1] * s / (s + 1), rel=0.01)


def test_words_and_several_cues():
    names = ["a", "b", "c", "d"]
    both = word_association(describe(PHI, vocabulary=names), cue=["d", 1])
    np.testing.assert_array_equal(both, [word_association(PHI, cue=3), word_association(PHI, cue=1)])
    np.testing.assert_allclose(both.sum(axis=1), 1)


def test_fitted_models():
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS).toarray()
    frame = pd.DataFrame(X, columns=vectorizer.get_feature_names_out())
    lda = GibbsLDA(2, max_iter=50, random_state=0).fit(frame)
    expected = word_association((lda.components_, lda.doc_topic_prior_), cue=1)
    np.testing.assert_array_equal(word_association(lda, cue="banana"), expected)
    assert expected[0] > expected[2]
    pipeline = make_pipeline(CountVectorizer(), CollapsedVariationalLDA(2, random_state=0)).fit(TEXTS)
    found = word_association(pipeline, cue="engine")
    assert (found == word_association(describe(pipeline[1], vocabulary=pipeline[0].vocabulary_), cue="engine")).all()
    assert found[[2, 5]].min() > found[[0, 1]].max() or found[5] > found[0]


def test_a_cue_that_no_topic_has():
    phi = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    np.testing.assert_allclose(word_association((phi, [1.0, 3.0]), cue=2), [0.275, 0.725, 0])


@pytest.mark.parametrize(
    ("cue", "error", "message"),
    [
        (4, ValueError, "cue has column 4; the topics have 4 columns"),
        (-1, ValueError, "cue has column -1"),
        (1.5, TypeError, "cue must hold a word, a column"),
        ([True], TypeError, "cue must have words or numbers of columns, got True"),
        ([None], TypeError, "cue must have words or numbers of columns, got None"),
        ("apple", ValueError, "The cue 'apple' is a word, but the words of the columns are not known"),
    ],
)
def test_bad_cues(cue, error, message):
    with pytest.raises(error, match=message):
        word_association(PHI, cue=cue)


def test_bad_models():
    with pytest.raises(ValueError, match=r"cue .*vocabulary: 'x'"):
        word_association(describe(PHI, vocabulary=["a", "b", "c", "d"]), cue="x")
    with pytest.raises(ValueError, match="vocabulary has 2 words; there are 4 columns"):
        word_association(describe(PHI, vocabulary=["a", "b"]), cue="a")
    with pytest.raises(ValueError, match="vocabulary has 'a' twice"):
        word_association(describe(PHI, vocabulary=["a", "b", "a", "d"]), cue="a")
    with pytest.raises(ValueError, match=r"topic_word\[1\] holds only zeros"):
        word_association([[1, 2], [0, 0]], cue=0)
    with pytest.raises(ValueError, match="holds negative"):
        word_association([[1, -2]], cue=0)
    with pytest.raises(ValueError, match="doc_topic_prior has shape"):
        word_association((PHI, [1.0, 2.0]), cue=0)


def test_covariates_are_asked_for():
    """alpha at the mean covariates would be that of no document."""
    X = np.random.default_rng(0).poisson(1, (20, 6))
    lda = CovariateLDA(2, max_iter=10, random_state=0).fit(X, covariates=np.arange(20) % 2)
    for model in (lda, make_pipeline(lda)):
        with pytest.raises(TypeError, match=r"CovariateLDA, .*depends on its covariates"):
            word_association(model, cue=0)
    known = lda.topic_word_, lda.document_prior([1])[0]
    assert word_association(known, cue=0).sum() == pytest.approx(1)
