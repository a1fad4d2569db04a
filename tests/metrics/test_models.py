"""Every score takes a model as an estimator, in a pipeline or search, or as arrays, with the same result."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, GibbsLDA, metrics
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe
from sklda.papers.held_out import held_out_curve, leave_one_out_score, predictive_perplexity

VOCABULARY = [f"w{v:02d}" for v in range(40)]
FEW = {"n_temperatures": 5, "random_state": 0}


def to_texts(X):
    return [" ".join(np.repeat(VOCABULARY, row)) for row in X.toarray()]


def pipeline_of(*steps):
    return make_pipeline(CountVectorizer(vocabulary=VOCABULARY).fit(VOCABULARY), *steps)


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(60, 40, 3, doc_length=30, topic_word_prior=0.05, random_state=0).data


@pytest.fixture(scope="module")
def lda(X):
    return GibbsLDA(3, doc_topic_prior=0.1, max_iter=20, random_state=0).fit(X)


def halves(X):
    seen = (X / 2).floor().astype(int)
    return seen, X - seen


# Functions as users call them; `as_input` turns counts into what the model takes.
SCORES = {
    "held_out_log_likelihood": lambda X, model, as_input: metrics.held_out_log_likelihood(model, as_input(X), **FEW),
    "predictive_perplexity": lambda X, model, as_input: predictive_perplexity(
        model, *map(as_input, halves(X)), random_state=0
    ),
    "compare_topic_models": lambda X, model, as_input: (
        metrics.compare_topic_models(model, model, as_input(X), **FEW).std
    ),
    "topic_coherence": lambda X, model, as_input: metrics.topic_coherence(model, as_input(X)),
    "topic_diversity": lambda X, model, as_input: metrics.topic_diversity(model, n_words=5),
    "topic_exclusivity": lambda X, model, as_input: metrics.topic_exclusivity(model, n_words=5),
    "word_association": lambda X, model, as_input: metrics.word_association(model, cue=[0, 1]),
    "held_out_curve": lambda X, model, as_input: held_out_curve([model, model], as_input(X), **FEW).score,
    "leave_one_out_score": lambda X, model, as_input: (
        leave_one_out_score(model, as_input(X), n_draws=10, rows=[0], **FEW).score
    ),
    "scorer": lambda X, model, as_input: metrics.neg_ais_perplexity_scorer(model, as_input(X)),
}


@pytest.mark.parametrize("score", SCORES)
def test_estimators_pipelines_and_searches(X, lda, score):
    expected = SCORES[score](X, lda, lambda X: X)
    pipeline = pipeline_of(lda)
    np.testing.assert_array_equal(SCORES[score](X, pipeline, to_texts), expected)
    np.testing.assert_array_equal(SCORES[score](X, make_pipeline(lda), lambda X: X), expected)
    np.testing.assert_array_equal(SCORES[score](X, make_pipeline(pipeline), to_texts), expected)
    search = SimpleNamespace(best_estimator_=pipeline)
    np.testing.assert_array_equal(SCORES[score](X, search, to_texts), expected)
    classifier = LogisticRegression().fit(lda.transform(X), np.arange(60) % 2)
    for topics in (lda, FrozenEstimator(lda), make_pipeline(lda)):
        np.testing.assert_array_equal(SCORES[score](X, pipeline_of(topics, classifier), to_texts), expected)
    np.testing.assert_array_equal(SCORES[score](X, FrozenEstimator(pipeline), to_texts), expected)
    np.testing.assert_array_equal(SCORES[score](X, describe(pipeline, topic_names=list("abc")), to_texts), expected)


@pytest.mark.parametrize("score", SCORES)
def test_arrays(X, lda, score):
    arrays = {
        "leave_one_out_score": (lda.topic_assignments_, lda.doc_topic_prior_, lda.topic_word_prior_),
        "scorer": SimpleNamespace(components_=lda.components_, doc_topic_prior_=0.1),
    }.get(score, (lda.topic_word_, 0.1))
    expected = SCORES[score](X, lda, lambda X: X)
    np.testing.assert_allclose(SCORES[score](X, arrays, lambda X: X), expected, rtol=1e-12)
    np.testing.assert_allclose(SCORES[score](X, describe(arrays), lambda X: X), expected, rtol=1e-12)
    if score.startswith("topic"):
        np.testing.assert_array_equal(SCORES[score](X, lda.topic_word_, lambda X: X), expected)
        np.testing.assert_array_equal(SCORES[score](X, lda.components_.tolist(), lambda X: X), expected)


WITHOUT_X = ("topic_diversity", "topic_exclusivity", "word_association")
READERS = {name: score for name, score in SCORES.items() if name not in WITHOUT_X} | {
    "coherence scorer": lambda X, model, as_input: metrics.make_coherence_scorer()(model, as_input(X)),
    "predictive_perplexity": lambda X, model, as_input: predictive_perplexity(model, as_input(X), X, random_state=0),
    "predictive_perplexity, hidden": lambda X, model, as_input: predictive_perplexity(
        model, X, as_input(X), random_state=0
    ),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("score", READERS)
def test_column_names_are_those_of_the_fit(X, score):
    """As in `transform`: a frame with its columns in another order, or with other columns, is refused."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=VOCABULARY)
    lda = GibbsLDA(3, doc_topic_prior=0.1, max_iter=20, random_state=0).fit(frame)
    read = READERS[score]
    expected = read(frame, lda, lambda X: X)
    np.testing.assert_array_equal(read(frame, lda, lambda X: X.to_numpy()), expected)
    other = {
        "another order": lambda X: X[VOCABULARY[::-1]],
        "other names": lambda X: X.set_axis(VOCABULARY[::-1], axis=1),
        "fewer": lambda X: X[VOCABULARY[:-1]],
        "more": lambda X: X.assign(more=1),
    }
    for model in (lda, make_pipeline(lda), SimpleNamespace(best_estimator_=lda)):
        for change in other.values():
            with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
                read(frame, model, change)
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        read(frame, lda, lambda X: X.set_axis([*VOCABULARY[:-1], 3], axis=1))
    with pytest.raises(ValueError, match=r"(?i)unique|The feature names should match"):
        read(frame, lda, lambda X: X.set_axis(VOCABULARY[:1] * 40, axis=1))


@pytest.mark.parametrize("score", READERS)
def test_names_of_a_model_of_another_kind(X, score):
    """A model that is not an estimator of scikit-learn has names that count, and else none."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=VOCABULARY)
    lda = GibbsLDA(3, doc_topic_prior=0.1, max_iter=20, random_state=0).fit(frame.to_numpy())
    fitted = {name: value for name, value in vars(lda).items() if name.endswith("_")}
    model = SimpleNamespace(**fitted)
    assert np.isfinite(READERS[score](frame, model, lambda X: X[VOCABULARY])).all()
    model.feature_names_in_ = np.array(VOCABULARY, object)
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        READERS[score](frame, model, lambda X: X[VOCABULARY[::-1]])


def test_the_vocabulary_has_the_order_of_the_columns(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=VOCABULARY)
    lda = GibbsLDA(3, max_iter=2, seed_words={0: ["w00"]}, vocabulary=VOCABULARY, random_state=0)
    lda.fit(frame)
    with pytest.raises(ValueError, match=r"vocabulary .*39 for 'w39', .*column 0 of X"):
        lda.fit(frame[VOCABULARY[::-1]])


def test_topics_as_a_data_frame(X, lda):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(lda.components_)
    assert metrics.topic_coherence(frame, X) == metrics.topic_coherence(lda, X)
    assert metrics.topic_diversity(frame) == metrics.topic_diversity(lda)


def test_two_topics_in_a_tuple_are_topics():
    """A tuple of rows is an array, not a pair with a prior."""
    assert metrics.topic_diversity(((0.5, 0.4, 0.1, 0.0), (0.0, 0.4, 0.5, 0.1)), n_words=2) == 0.75
    assert metrics.topic_diversity((np.array([[0.5, 0.4, 0.1, 0.0], [0.0, 0.4, 0.5, 0.1]]), 0.1), n_words=2) == 0.75


def test_a_search_that_was_fitted(X):
    search = GridSearchCV(
        pipeline_of(GibbsLDA(max_iter=3, random_state=0)),
        {"gibbslda__n_components": [2, 3]},
        scoring=metrics.make_coherence_scorer(n_words=5),
        cv=2,
    ).fit(to_texts(X))
    assert metrics.topic_coherence(search, to_texts(X), n_words=5) == search.score(to_texts(X))


def test_pipelines_of_different_counts_do_not_compare(X, lda):
    texts = to_texts(X)
    a, b = pipeline_of(lda), make_pipeline(CountVectorizer(vocabulary=VOCABULARY, binary=True).fit(VOCABULARY), lda)
    with pytest.raises(ValueError, match=r"a and b .*different counts"):
        metrics.compare_topic_models(a, b, texts)


def test_collections():
    X = np.array([[2, 1, 0], [0, 1, 2], [1, 1, 1]])
    labels = ["a", "b", "a"]
    lda = CompoundLDA(2, max_iter=10, random_state=0).fit(X, collections=labels)
    arrays = (lda.topic_word_, lda.document_prior(labels))
    found = metrics.held_out_log_likelihood(lda, X, collections=labels, **FEW)
    np.testing.assert_array_equal(found, metrics.held_out_log_likelihood(arrays, X, **FEW))
    assert not np.array_equal(found, metrics.held_out_log_likelihood(lda, X, **FEW))
    with pytest.raises(TypeError, match="arrays have no collections"):
        metrics.held_out_log_likelihood(arrays, X, collections=labels)
    with pytest.raises(TypeError, match="GibbsLDA has no collections"):
        metrics.held_out_log_likelihood(GibbsLDA(2, max_iter=2).fit(X), X, collections=labels)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("wrap", [lambda model: model, pipeline_of], ids=["bare", "pipeline"])
def test_models_that_are_not_fitted(X, score, wrap):
    with pytest.raises(NotFittedError, match="This GibbsLDA instance is not fitted yet"):
        SCORES[score](X, wrap(GibbsLDA(3)), to_texts)


@pytest.mark.parametrize(
    "score", ["held_out_log_likelihood", "predictive_perplexity", "compare_topic_models", "scorer"]
)
def test_what_is_no_model(X, lda, score):
    for model, error, match in [
        (lda.topic_word_, TypeError, r"ndarray has no components_: .* a pair \(topic_word, doc_topic_prior\)"),
        (None, TypeError, "NoneType has no components_"),
        (pipeline_of(), TypeError, "CountVectorizer has no components_"),
        ((lda.topic_word_, 0.1, 0.1), ValueError, "model is a tuple of 3"),
        ((lda.topic_word_, lda.doc_topic_), ValueError, "doc_topic_prior sum to 1, as topic proportions do"),
        (SimpleNamespace(components_=lda.components_), TypeError, "has no doc_topic_prior_"),
        (SimpleNamespace(components_=0 * lda.components_, doc_topic_prior_=1.0), ValueError, "holds only zeros"),
    ]:
        with pytest.raises(error, match=match):
            SCORES[score](X, model, lambda X: X)
