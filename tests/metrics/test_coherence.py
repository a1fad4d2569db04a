"""Coherence against gensim's and by hand, diversity by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sklda.datasets import load_docstrings
from sklda.inspection import describe
from sklda.metrics import topic_coherence, topic_diversity

# Words 0 and 1 share two of their documents, 2 is in every document, 3 in one without 0 and 1, 4 in none.
X = np.array([[2, 1, 1, 0, 0], [1, 3, 2, 0, 0], [1, 0, 1, 0, 0], [0, 0, 4, 1, 0]])


def topic(*words, n_features=5):
    """Weights whose top words are `words`, in that order."""
    weights = np.zeros((1, n_features))
    weights[0, list(words)] = np.arange(len(words), 0, -1)
    return weights


def pair(*words, method):
    return topic_coherence(topic(*words), X, method=method, n_words=2)


@pytest.fixture(scope="module")
def docstrings():
    """298 documents with words, and for topics the counts of 20 documents, many of them equal."""
    data = load_docstrings().data
    return data[:1490:5], data[5:105:5].toarray()


@pytest.fixture(scope="module")
def gensim_coherence():
    """gensim's coherence of lists of word ids in a matrix of counts, every document a window of its own."""
    pytest.importorskip("gensim")
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    def coherence(top, X, method):
        names = [f"w{v}" for v in range(X.shape[1])]
        texts = [np.repeat(names, row).tolist() for row in X.toarray()]
        model = CoherenceModel(
            topics=[[names[v] for v in words] for words in top],
            texts=texts,
            dictionary=Dictionary([names]),
            window_size=1 + max(map(len, texts)),
            coherence={"npmi": "c_npmi", "umass": "u_mass"}[method],
            topn=len(top[0]),
            processes=1,
        )
        return np.array(model.get_coherence_per_topic()), model.get_coherence()

    return coherence


@pytest.mark.parametrize("method", ["npmi", "umass"])
@pytest.mark.parametrize("n_topics, n_words", [(1, 2), (4, 10), (20, 5), (7, 25)])
def test_equal_to_gensim(docstrings, gensim_coherence, method, n_topics, n_words):
    X, topic_word = docstrings
    # words without a document, where gensim's NPMI is infinite, are left to the next test
    present = X.max(axis=0).toarray().ravel() > 0
    X, topic_word = X[:, present], topic_word[:n_topics, present]
    top = [sorted(range(len(w)), key=lambda v: (-w[v], v))[:n_words] for w in topic_word]
    each, mean = gensim_coherence(top, X, method)
    found = topic_coherence(topic_word, X, method=method, n_words=n_words, per_topic=True)
    assert found.shape == (n_topics,)
    assert len(np.unique(found)) == n_topics
    np.testing.assert_allclose(found, each, rtol=1e-12)
    value = topic_coherence(topic_word, X, method=method, n_words=n_words)
    assert type(value) is float
    assert value == pytest.approx(mean, rel=1e-12)


def test_special_cases_equal_gensim_s(gensim_coherence):
    def theirs(words, method):
        return gensim_coherence([words], sp.csr_array(X), method)[1]

    for words in ([0, 2], [2, 0], [0, 3], [3, 0], [0, 4], [4, 0]):
        assert pair(*words, method="umass") == pytest.approx(theirs(words, "umass"), rel=1e-12, abs=1e-15)
    everywhere = X.copy()
    everywhere[:, 1] = 1
    assert gensim_coherence([[1, 2]], sp.csr_array(everywhere), "npmi")[1] == -1
    assert topic_coherence(topic(1, 2), everywhere, n_words=2) == 0
    with np.errstate(divide="ignore"):
        assert theirs([0, 4], "npmi") == np.inf
    assert pair(0, 4, method="npmi") == -1


def test_by_hand():
    # p(0) = 3/4, p(1) = 1/2 and p(0, 1) = 1/2
    npmi = np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5)
    assert pair(0, 1, method="npmi") == pytest.approx(npmi, rel=1e-10)
    assert pair(1, 0, method="npmi") == pytest.approx(npmi, rel=1e-10)
    assert pair(0, 1, method="umass") == pytest.approx(np.log(0.5 / 0.75), rel=1e-10)
    assert pair(1, 0, method="umass") == pytest.approx(0, abs=1e-10)
    # a word in every document has no information on the others
    assert pair(0, 2, method="npmi") == pytest.approx(0, abs=1e-10)
    # never together
    assert pair(0, 3, method="npmi") == pytest.approx(np.log(1e-12 / (0.75 * 0.25)) / -np.log(1e-12), rel=1e-10)
    assert pair(0, 3, method="umass") == pytest.approx(np.log(1e-12 / 0.75), rel=1e-10)


def test_a_topic_is_the_mean_over_its_pairs():
    for method in ("npmi", "umass"):
        expected = np.mean([pair(*words, method=method) for words in ((3, 1), (3, 0), (1, 0))])
        assert topic_coherence(topic(3, 1, 0), X, method=method, n_words=3) == pytest.approx(expected, rel=1e-14)


def test_words_that_never_occur():
    assert pair(0, 4, method="npmi") == pair(4, 0, method="npmi") == -1
    assert pair(4, 0, method="umass") == 0
    assert pair(0, 4, method="umass") == pytest.approx(np.log(1e-12 / 0.75), rel=1e-10)
    absent = np.column_stack([X, np.zeros((4, 2), int)])
    for method, value in (("npmi", -1), ("umass", 0)):
        assert topic_coherence(topic(4, 5, 6, n_features=7), absent, method=method, n_words=3) == value


def test_equal_weights_go_by_word_id():
    weights = np.array([[1.0, 0.0, 2.0, 1.0, 1.0]])
    for method in ("npmi", "umass"):
        for n_words, words in ((2, (2, 0)), (3, (2, 0, 3)), (5, (2, 0, 3, 4, 1))):
            assert topic_coherence(weights, X, method=method, n_words=n_words) == topic_coherence(
                topic(*words), X, method=method, n_words=n_words
            )
    assert topic_diversity([[1, 1, 1, 1], [1, 1, 1, 1]], n_words=2) == 0.5


@pytest.mark.parametrize("method", ["npmi", "umass"])
def test_only_occurrence_and_order_matter(docstrings, method, same):
    X, topic_word = docstrings

    def coherence(topic_word, X):
        return topic_coherence(topic_word, X, method=method, per_topic=True)

    expected = coherence(topic_word, X)
    padded = sp.csr_array((np.r_[X.data, 0], np.r_[X.indices, 7], np.r_[X.indptr[:-1], X.nnz + 1]), shape=X.shape)
    twice = sp.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    variants = [X.toarray(), np.asfortranarray(X.toarray()), X.toarray().tolist(), X > 0, (X > 0).toarray(), X * 0.25]
    variants += [X.astype(dtype) for dtype in (np.int8, np.uint16, np.float32)]
    variants += [X.asformat(form) for form in ("csc", "coo", "lil", "dok")]
    variants += [sp.csr_array(X), padded, twice, X[np.random.default_rng(0).permutation(X.shape[0])]]
    for variant in variants:
        assert same(coherence(topic_word, variant), expected)

    order = np.random.default_rng(1).permutation(len(topic_word))
    assert same(coherence(topic_word[order], X), expected[order])
    types = [topic_word.astype(dtype) for dtype in (np.uint8, np.float32)]
    for weights in [*types, 0.125 * topic_word, topic_word.tolist()]:
        assert same(coherence(weights, X), expected)


def test_input_is_left_alone(docstrings):
    X, topic_word = docstrings
    weights = topic_word.copy()
    twice = sp.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    for array in (twice.data, twice.indices, twice.indptr, weights):
        array.flags.writeable = False
    topic_coherence(weights, twice)
    topic_diversity(weights)
    assert twice.nnz == len(twice.data) == 2 * X.nnz


def test_diversity_by_hand():
    weights = np.array([[5, 4, 3, 0, 0, 0], [5, 4, 0, 3, 0, 0], [0, 0, 0, 0, 5, 4]])
    assert topic_diversity(weights, n_words=1) == 2 / 3
    assert topic_diversity(weights, n_words=2) == 4 / 6
    assert topic_diversity(weights / 12, n_words=2) == 4 / 6
    assert topic_diversity(weights[::-1], n_words=2) == 4 / 6
    assert topic_diversity(weights, n_words=6) == 1 / 3
    assert topic_diversity(weights[:1], n_words=6) == 1
    assert type(topic_diversity(np.eye(30))) is float


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"method": "c_w"}, ValueError, r"method must be one of \('npmi', 'umass'\), got 'c_w'"),
        ({"n_words": 1}, ValueError, "n_words must lie between 2 and the 5 features, got 1"),
        ({"n_words": 6}, ValueError, "n_words must lie between 2 and the 5 features, got 6"),
        ({"n_words": 3.0}, TypeError, "n_words must be an integer, got 3.0"),
        ({"n_words": True}, TypeError, "n_words must be an integer, got True"),
        ({"X": X[:, :4]}, ValueError, "topic_word has 5 features, X has 4"),
        ({"X": X[:0]}, ValueError, r"0 sample\(s\)"),
        ({"X": 0 * X}, ValueError, "X has no words"),
        ({"X": sp.csr_array((3, 5))}, ValueError, "X has no words"),
        ({"X": -X}, ValueError, "Negative values in data passed to X"),
        ({"X": sp.csr_array(-X)}, ValueError, "Negative values in data passed to X"),
        ({"X": X * np.nan}, ValueError, "Input X contains NaN"),
        ({"X": X[0]}, ValueError, "Expected 2D array"),
        ({"estimator": -topic(0, 1)}, ValueError, "Negative values in data passed to topic_word"),
        ({"estimator": np.inf * np.ones((1, 5))}, ValueError, "Input topic_word contains infinity"),
        ({"estimator": np.ones(5)}, ValueError, "Expected 2D array"),
        ({"estimator": np.ones((0, 5))}, ValueError, r"0 sample\(s\)"),
        ({"estimator": sp.csr_array(topic(0, 1))}, TypeError, "Sparse data was passed for topic_word"),
    ],
)
def test_bad_input_to_coherence(change, error, message):
    arguments = {"estimator": topic(0, 1), "X": X, "n_words": 2} | change
    with pytest.raises(error, match=message):
        topic_coherence(**arguments)


def test_words_of_every_document_and_documents_without_words():
    """That a document has a word that all have says nothing of others: 0, as for one such word."""
    everywhere = X.copy()
    everywhere[:, 1] = 1
    for counts in (everywhere, np.vstack([everywhere, np.zeros((100, X.shape[1]), int)])):
        assert topic_coherence(topic(1, 2), counts, n_words=2) == 0
        assert topic_coherence(topic(0, 2), sp.csr_array(counts), n_words=2) == pytest.approx(0, abs=1e-10)
    longer = np.vstack([X, np.zeros((100, X.shape[1]), int)])
    for method in ("npmi", "umass"):
        assert topic_coherence(topic(0, 1), longer, n_words=2, method=method) == pair(0, 1, method=method)


@pytest.mark.parametrize("topics", [[("a", 0.5)], {0: ["a", "b"]}, np.array([["a", "b"]]), [{"a"}], ["a b"]])
def test_words_that_are_no_lists(topics):
    for call in (lambda: topic_coherence(topics, X, n_words=2), lambda: topic_diversity(topics, n_words=2)):
        with pytest.raises(TypeError, match="list of str for each topic"):
            call()


def test_topics_of_another_tool():
    """Lists of words mean the same as weights that fall from the first word on."""
    words, topics = [f"w{v}" for v in range(X.shape[1])], [["w1", "w0"], ["w3", "w2"]]
    weights = np.zeros((2, X.shape[1]))
    weights[[0, 0, 1, 1], [1, 0, 3, 2]] = [2, 1, 2, 1]
    for method in ("npmi", "umass"):
        expected = topic_coherence(weights, X, n_words=2, method=method, per_topic=True).tolist()
        for given in (describe(topics, vocabulary=words), describe(topics, X, vocabulary=words)):
            assert topic_coherence(given, X, n_words=2, method=method, per_topic=True).tolist() == expected
        frame = pd.DataFrame(np.asarray(X), columns=words)
        assert topic_coherence(topics, frame, n_words=2, method=method, per_topic=True).tolist() == expected
    named = describe(topics, vocabulary=words)
    assert topic_diversity(named, n_words=2) == topic_diversity(weights, n_words=2)
    with pytest.raises(TypeError, match=r"columns of X .*data frame"):
        topic_coherence(topics, X, n_words=2)
    with pytest.raises(ValueError, match=r"n_words=3.* has 2"):
        topic_coherence(named, X, n_words=3)
    with pytest.raises(ValueError, match=r"topic 1 .*vocabulary: 'zebra'"):
        topic_coherence(describe([["w0", "w1"], ["zebra", "w2"]], vocabulary=words), X, n_words=2)
