"""LabeledLDA: forms of y, predictions, searches, documents and labels that are missing."""

import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

from sklda import LabeledLDA
from sklda.datasets import make_lda_corpus
from sklda.metrics import held_out_log_likelihood

FAST = {"max_iter": 8, "burn_in": 5, "n_draws": 3, "draw_every": 1, "n_chains": 2, "random_state": 0}
N_LABELS = 4


def make(**parameters):
    return LabeledLDA(**(FAST | parameters))


@pytest.fixture(scope="module")
def labelled():
    """120 documents of 30 words from 20; each label has five words of its own."""
    rng = np.random.default_rng(0)
    Y = np.zeros((120, N_LABELS), int)
    Y[np.arange(120), rng.integers(N_LABELS, size=120)] = 1
    Y[::2][np.arange(60), rng.integers(N_LABELS, size=60)] = 1
    phi = np.kron(np.eye(N_LABELS), np.ones(5)) / 5 * 0.9 + 0.005
    theta = Y / Y.sum(axis=1, keepdims=True)
    return rng.multinomial(30, theta @ phi), Y


def test_it_finds_the_labels(labelled):
    X, Y = labelled
    lda = make().fit(X[:80], Y[:80])
    assert (lda.topic_word_.argmax(axis=1) // 5 == np.arange(N_LABELS)).all()
    predicted = lda.predict(X[80:])
    assert label_ranking_average_precision_score(Y[80:], lda.decision_function(X[80:])) > 0.95
    assert lda.score(X[80:], Y[80:]) == (predicted == Y[80:]).all(axis=1).mean()
    np.testing.assert_allclose(lda.transform(X).sum(axis=1), 1)
    np.testing.assert_array_equal(lda.fit_transform(X, Y), lda.fit(X, Y).transform(X))
    assert (lda.doc_topic_[Y == 0] == 0).all()


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csr_array, sp.coo_array, np.ndarray.tolist, pd.DataFrame])
def test_forms_of_an_indicator_matrix(labelled, convert, same):
    X, Y = labelled
    expected, found = make().fit(X, Y), make().fit(X, convert(Y))
    assert same(found.components_, expected.components_)
    predicted = found.predict(X)
    assert sp.issparse(predicted) == sp.issparse(convert(Y))
    np.testing.assert_array_equal(predicted.toarray() if sp.issparse(predicted) else predicted, expected.predict(X))
    assert found.score(X, convert(Y)) == expected.score(X, Y)


def test_names_of_labels(labelled):
    X, Y = labelled
    assert make().fit(X, pd.DataFrame(Y, columns=list("abcd"))).label_names_.tolist() == list("abcd")
    assert make().fit(X, Y).label_names_.tolist() == list("0123")
    y = np.array(["d", "c", "b", "a"])[Y.argmax(axis=1)]
    lda = make().fit(X, y)
    assert lda.classes_.tolist() == lda.label_names_.tolist() == list("abcd")
    assert lda.score(X, y) > 0.7
    assert (lda.decision_function(X).argmax(axis=1) == [list("abcd").index(k) for k in lda.predict(X)]).all()
    with pytest.warns(DataConversionWarning):
        np.testing.assert_array_equal(make().fit(X, y[:, None]).predict(X), lda.predict(X))


def test_two_classes_have_one_score(labelled):
    X, Y = labelled
    y = np.array(["no", "yes"])[Y[:, 0]]
    lda = make().fit(X, y)
    scores = lda.decision_function(X)
    assert scores.shape == (120,)
    np.testing.assert_array_equal(lda.predict(X) == "yes", scores > 0)


@pytest.mark.parametrize("label_prior", ["uniform", "frequency", "dependency"])
@pytest.mark.parametrize("ranking_score", ["proportions", "shares"])
def test_scores_rank_labels(labelled, label_prior, ranking_score):
    X, Y = labelled
    lda = make(label_prior=label_prior, ranking_score=ranking_score, n_label_topics=3, label_weight=2, even_weight=1)
    scores = lda.fit(X[:80], Y[:80]).decision_function(X[80:])
    assert (Y[80:][np.arange(40), scores.argmax(axis=1)] == 1).all()
    single = make(**lda.get_params()).fit(X[:80], Y[:80]).decision_function(X[100:101])
    np.testing.assert_array_equal(single, scores[20:21])
    if ranking_score == "proportions":
        np.testing.assert_array_equal(scores, lda.transform(X[80:]))


@pytest.mark.filterwarnings("ignore:1 of 5 labels have no document")
@pytest.mark.parametrize("n_shared", [0, 2])
@pytest.mark.parametrize("label_prior", ["uniform", "frequency", "dependency"])
def test_the_prior_of_new_documents(labelled, label_prior, n_shared):
    X, Y = labelled
    Y = np.column_stack([Y, np.zeros(120, int)])
    lda = make(label_prior=label_prior, label_weight=7, even_weight=3, n_shared=n_shared).fit(X, Y)
    expected = np.full(5, 2.0) if label_prior == "uniform" else 7 * Y.sum(axis=0) / Y.sum() + 3 / 5
    np.testing.assert_allclose(lda.doc_topic_prior_[:5], expected)
    shares = lda.topic_share_
    np.testing.assert_allclose(lda.doc_topic_prior_[5:], 10 * shares[5:] / shares[:5].sum())
    if label_prior != "dependency":
        np.testing.assert_allclose(lda.transform(np.zeros((1, 20)), normalize=False)[0], lda.doc_topic_prior_)
    else:
        np.testing.assert_allclose(lda._base_prior_[:5], 3 / 5)


@pytest.mark.parametrize("sampler", ["fast", "gibbs"])
def test_dependency_knows_which_labels_occur_together(sampler):
    """Labels 0 and 1 always occur together, but the words of a document are those of 0."""
    Y = np.array([[1, 1, 0, 0], [0, 0, 1, 1]] * 30)
    rng = np.random.default_rng(0)
    X = rng.multinomial(20, np.repeat(np.eye(4), 2, axis=1)[[0, 2] * 30] * 0.4 + 0.025)
    X += rng.multinomial(20, np.repeat(np.eye(4), 2, axis=1)[[1, 3] * 30] * 0.4 + 0.025)
    lda = make(label_prior="dependency", dependency_sampler=sampler, n_label_topics=2, label_weight=20, even_weight=1)
    lda.fit(X, Y)
    assert lda.label_topics_.shape == (2, 2, 4)
    new = np.array([[3, 3, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 3, 3, 0, 0]])
    independent = make(label_weight=20, even_weight=1).fit(X, Y).transform(new)
    assert (lda.transform(new)[[0, 1], [1, 3]] > independent[[0, 1], [1, 3]]).all()


@pytest.mark.parametrize("regressor", ["meta", PoissonRegressor(), DummyRegressor(strategy="constant", constant=2.0)])
def test_the_number_of_labels_is_predicted(labelled, regressor):
    X, Y = labelled
    lda = make(label_count=regressor).fit(X, Y)
    numbers = lda.predict(X).sum(axis=1)
    assert set(numbers) <= {1, 2}
    if regressor == "meta":
        assert (numbers == Y.sum(axis=1)).mean() > 0.8
    if isinstance(regressor, DummyRegressor):
        assert set(numbers) == {2}
        assert not hasattr(regressor, "constant_")


def test_other_numbers_of_labels(labelled):
    X, Y = labelled
    assert (make(label_count=3).fit(X, Y).predict(X).sum(axis=1) == 3).all()
    assert (make(label_count=9).fit(X, Y).predict(X) == 1).all()


def test_changes_that_need_another_fit(labelled):
    X, Y = labelled
    with pytest.raises(ValueError, match="label_prior='dependency' needs"):
        make().fit(X, Y).set_params(label_prior="dependency").predict(X)
    with pytest.raises(ValueError, match="label_count needs"):
        make(label_count=1).fit(X, Y).set_params(label_count="meta").predict(X)


def test_a_regressor_that_predicts_no_numbers(labelled):
    X, Y = labelled

    class Nan(DummyRegressor):
        def predict(self, X):
            return np.full(X.shape[0], np.nan)

    with pytest.raises(ValueError, match=r"label_count: Nan\(\) .*finite"):
        make(label_count=Nan()).fit(X, Y).predict(X)


def test_documents_without_labels(labelled, same):
    X, Y = labelled
    some = Y.copy()
    some[:10] = 0
    left_out, without = make(n_chains=1).fit(X, some), make(n_chains=1).fit(X[10:], Y[10:])
    assert left_out.n_unlabeled_ == 10
    assert (left_out.topic_assignments_[: X[:10].sum()] == -1).all()
    assert left_out.doc_label_[:10].nnz == 0
    np.testing.assert_allclose(left_out.doc_topic_.sum(axis=1), 1)
    np.testing.assert_allclose(left_out.label_frequency_, without.label_frequency_)
    assert left_out._word_topic_counts_.sum() == pytest.approx(X[10:].sum())
    shared = make(n_shared=2).fit(X, some)
    assert shared.transform(X).shape == (120, N_LABELS + 2)
    assert shared.decision_function(X).shape == shared.predict(X).shape == (120, N_LABELS)
    assert shared._word_topic_counts_.sum() == pytest.approx(X.sum())
    assert (shared.doc_topic_[:10, :N_LABELS] == 0).all()


def test_a_label_without_documents_has_its_prior(labelled):
    X, Y = labelled
    lda = make(topic_word_prior=np.linspace(0.1, 1, 20))
    with pytest.warns(UserWarning, match="1 of 5 labels .*: '4'"):
        lda.fit(X, np.column_stack([Y, np.zeros(120, int)]))
    np.testing.assert_allclose(lda.components_[N_LABELS], np.linspace(0.1, 1, 20))
    assert lda.label_frequency_[N_LABELS] == 0
    assert lda.predict(X).shape == (120, N_LABELS + 1)


@pytest.mark.mutation("sklda._models.labels.missing_labels._PART", 2.0)
def test_labels_that_are_missing_in_documents_are_named(labelled):
    """Complete labels make no warning, which would be an error."""
    X, Y = labelled
    make().fit(X, Y)
    given = Y.copy()
    several = np.flatnonzero((Y[:, 2] == 1) & (Y.sum(axis=1) > 1))
    given[several, 2] = 0
    with pytest.warns(UserWarning) as caught:
        make().fit(X, given)
    (message,) = [str(each.message) for each in caught]
    assert "1 of 4 labels may be missing in documents that have their words: '2'. " in message
    assert f"{len(several)} do not" in message


def test_shared_topics_take_the_common_words():
    rng = np.random.default_rng(0)
    Y = np.eye(2, dtype=int)[rng.integers(2, size=100)]
    X = np.hstack([rng.poisson(3, (100, 3)), rng.poisson(3, (100, 3)) * Y[:, :1], rng.poisson(3, (100, 3)) * Y[:, 1:]])
    with_shared, without = (
        make(n_shared=n, doc_topic_prior=1.0, topic_word_prior=0.01, max_iter=53, burn_in=50).fit(X, Y) for n in (1, 0)
    )
    assert with_shared.topic_word_[2, :3].sum() > 0.95
    for k, own in ((0, slice(3, 6)), (1, slice(6, 9))):
        assert with_shared.topic_word_[k, own].sum() > without.topic_word_[k, own].sum() + 0.15


def test_pipelines_searches_and_pickles(labelled):
    X, Y = labelled
    texts = [" ".join(f"w{v:02}" for v in np.repeat(np.arange(20), row)) for row in X]
    pipe = make_pipeline(CountVectorizer(), make())
    grid = {"labeledlda__label_prior": ["uniform", "frequency"], "labeledlda__label_count": ["meta", 1]}
    search = GridSearchCV(pipe, grid, scoring="f1_micro", cv=3).fit(texts, Y)
    assert search.best_score_ > 0.8
    assert f1_score(Y, cross_val_predict(pipe, texts, Y, cv=3), average="micro") > 0.8
    assert cross_val_predict(pipe, texts, Y, cv=3, method="decision_function").shape == Y.shape
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.predict(texts), search.predict(texts))
    frame = clone(pipe[-1]).set_output(transform="pandas").fit(X, Y).transform(X)
    assert frame.columns.tolist() == [f"labeledlda{k}" for k in range(N_LABELS)]


def test_metadata_routing(labelled):
    X, Y = labelled
    weights = np.random.default_rng(0).random(120)
    with sklearn.config_context(enable_metadata_routing=True):
        lda = make().set_score_request(sample_weight=True)
        found = cross_validate(lda, X, Y, cv=2, params={"sample_weight": weights})["test_score"]
    halves = np.arange(60), np.arange(60, 120)
    for own, other, score in zip(halves, halves[::-1], found, strict=True):
        assert score == make().fit(X[other], Y[other]).score(X[own], Y[own], weights[own])


def test_likelihoods_and_draws(labelled):
    X, Y = labelled
    lda = make(n_shared=1).fit(X, Y)
    assert lda.perplexity(X) == pytest.approx(np.exp(-lda.score_samples(X).sum() / X.sum()))
    assert np.isfinite(held_out_log_likelihood(lda, X, random_state=0)).all()
    found = lda.sample_posterior(3, random_state=0)
    assert found.doc_topic.shape == (3, 120, 5)
    assert found.topic_word.shape == (3, 5, 20)
    for draws in (found.doc_topic, found.topic_word):
        np.testing.assert_allclose(draws.sum(axis=2), 1, rtol=1e-5)
    assert (found.doc_topic[:, :, :N_LABELS][:, Y == 0] == 0).all()
    np.testing.assert_allclose(found.topic_word.mean(axis=0), lda.topic_word_, atol=0.1)


BAD_Y = [
    (None, ValueError, "LabeledLDA requires y to be passed, but the target y is None"),
    ([0, 1], ValueError, "y has 2 values; there are 3 documents"),
    ([[1, 0], [0, 2], [1, 1]], ValueError, r"y\[1, 1\] = 2: Unknown label type. An indicator matrix has only entries"),
    ([[1, 0], [0, -1], [1, 1]], ValueError, r"y\[1, 1\] = -1"),
    (sp.csr_array([[0.5, 0], [0, 1], [1, 1]]), ValueError, r"y\[0, 0\] = 0.5"),
    ([["a", "b"], ["b", "a"], ["a", "a"]], ValueError, "MultiLabelBinarizer makes one from lists of labels"),
    ([["a", "b"], ["b"], []], ValueError, "MultiLabelBinarizer"),
    ([0.5, 1.5, 2.5], ValueError, "Unknown label type: continuous"),
    ([0, np.nan, 1], ValueError, "Input y contains NaN"),
    (np.zeros((3, 2, 2)), ValueError, "y must have one or two dimensions"),
    (np.zeros((3, 0)), ValueError, "it has no label"),
    (np.zeros((3, 2)), ValueError, "y has 0 labels, and documents with labels have 0 tokens"),
    ([[0, 0], [0, 0], [1, 0]], ValueError, "y has 1 labels, and documents with labels have 0 tokens"),
]


@pytest.mark.parametrize(("y", "error", "message"), BAD_Y)
def test_bad_labels(y, error, message, same):
    lda = make()
    before = dict(vars(lda))
    with pytest.raises(error, match=message):
        lda.fit([[1, 0], [2, 1], [0, 0]], y)
    assert same(vars(lda), before)


BAD_PARAMETERS = [
    ({"n_shared": -1}, "'n_shared' parameter of LabeledLDA must be an int"),
    ({"label_prior": "flat"}, "'label_prior' parameter of LabeledLDA must be a str among"),
    ({"label_count": 0}, "'label_count' parameter of LabeledLDA must be"),
    ({"label_count": "all"}, "'label_count' parameter of LabeledLDA must be"),
    ({"ranking_score": "theta"}, "'ranking_score' parameter of LabeledLDA must be"),
    ({"topic_word_prior": None}, "'topic_word_prior' parameter of LabeledLDA must be"),
    ({"label_weight": -1}, "'label_weight' parameter of LabeledLDA must be"),
    ({"label_weight": 0, "even_weight": 0}, "label_weight and even_weight are both 0: one of them must be positive"),
    (
        {"doc_topic_prior": [1, 1, 1]},
        r"doc_topic_prior has shape \(3,\); it must be a float, or an array of shape \(4,\)",
    ),
    ({"topic_word_prior": np.ones((3, 20))}, r"topic_word_prior has shape \(3, 20\)"),
    ({"n_label_topics": 0}, "'n_label_topics' parameter of LabeledLDA must be"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(labelled, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(*labelled)


def test_labels_that_only_the_test_has(labelled):
    X, Y = labelled
    lda = make().fit(X, np.array(list("abcd"))[Y.argmax(axis=1)])
    with pytest.raises(
        ValueError, match=re.escape("y[2] = 'e' is not a label of the fit, which had 'a', 'b', 'c', 'd'.")
    ):
        lda.score(X[:3], ["a", "b", "e"])
    lda = make().fit(X, Y)
    with pytest.raises(ValueError, match=r"y has the label 4, .*5 columns"):
        lda.score(X, np.column_stack([Y, Y[:, 0]]))
    with pytest.raises(ValueError, match=r"y has shape \(120, 3\).* 4 columns"):
        lda.score(X, Y[:, :3])


def test_before_a_fit(labelled):
    X, Y = labelled
    for ask in ("predict", "transform", "decision_function", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(make(), ask)(X)
    with pytest.raises(NotFittedError):
        make().score(X, Y)
    assert not hasattr(make(), "components_")
    assert not hasattr(make(), "doc_topic_")


def test_empty_documents_and_extreme_weights(labelled):
    X, Y = labelled
    X = X.copy()
    X[[0, 50, 119]] = 0
    for parameters in (
        {"label_weight": 0.0, "even_weight": 1e-9},
        {"label_weight": 1e12, "even_weight": 0},
        {"label_prior": "dependency", "label_weight": 1e12, "even_weight": 0, "dependency_sampler": "gibbs"},
        {"doc_topic_prior": 1e-12, "topic_word_prior": 1e-12, "n_shared": 1},
        {"doc_topic_prior": 1e12, "topic_word_prior": 1e12, "label_prior": "dependency"},
    ):
        lda = make(**parameters).fit(X, Y)
        assert np.isfinite(lda.transform(X)).all(), parameters
        assert np.isfinite(lda.decision_function(X)).all(), parameters
        assert np.isfinite(lda.log_joint_trace_).all(), parameters
    prior = make().fit(X, Y)
    np.testing.assert_allclose(prior.transform(X[:1])[0], prior.doc_topic_prior_ / prior.doc_topic_prior_.sum())


@pytest.mark.filterwarnings("ignore:1 of 5000 labels have no document")
def test_memory_does_not_grow_with_documents_times_labels():
    """20,000 documents and 5,000 labels: a dense matrix of them in double precision would have 800 MB."""
    D, K, V = 20_000, 5_000, 200
    rng = np.random.default_rng(0)
    X = sp.csr_array((np.ones(5 * D, int), rng.integers(V, size=5 * D), 5 * np.arange(D + 1)), shape=(D, V))
    labels = np.column_stack([rng.integers(K // 2, size=D), rng.integers(K // 2, K, size=D)])
    Y = sp.csr_array((np.ones(2 * D, int), labels.ravel(), 2 * np.arange(D + 1)), shape=(D, K))
    tracemalloc.start()
    make(n_chains=1, label_count=2).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_predict_proba_of_one_label():
    corpus = make_lda_corpus(90, 40, 3, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0)
    y = np.array(["a", "b", "c"])[corpus.doc_topic.argmax(axis=1)]
    lda = LabeledLDA(max_iter=30, n_chains=2, random_state=0).fit(corpus.data, y)
    share = lda.predict_proba(corpus.data)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_array_equal(lda.classes_[share.argmax(axis=1)], lda.predict(corpus.data))
    for scoring in ("roc_auc_ovr", "neg_log_loss"):
        assert np.isfinite(cross_val_score(lda, corpus.data, y, scoring=scoring, cv=3)).all()
    several = LabeledLDA(max_iter=5, n_chains=1, random_state=0).fit(
        corpus.data, np.eye(3, dtype=int)[np.arange(90) % 3]
    )
    assert not hasattr(several, "predict_proba")
