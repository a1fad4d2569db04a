"""The corpora of sklda.datasets: shapes, truth against counts, bad input, figures of the bundled corpus."""

from importlib.resources import files

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity

from sklda.datasets import load_docstrings, make_lda_corpus

# Chance that one statistical assertion fails under correct code and a fresh seed.
FALSE_ALARM = 1e-5


def tokens(corpus):
    """Document and word of every token, in the order of topic_assignments."""
    cells = corpus.data.tocoo()
    return np.repeat(cells.row, cells.data), np.repeat(cells.col, cells.data)


def cross_counts(first, second, shape):
    """Number of tokens of every pair."""
    return np.bincount(np.ravel_multi_index((first, second), shape), minlength=np.prod(shape)).reshape(shape)


def multinomial_p_value(counts, probabilities):
    """Chi-square p-value of rows of counts, cells of small expectation pooled within each row."""
    statistic, freedom = 0.0, 0
    for observed, p in zip(counts, probabilities, strict=True):
        expected = observed.sum() * p
        rare = expected < 5
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        observed, expected = observed[expected > 1], expected[expected > 1]
        statistic += ((observed - expected) ** 2 / expected).sum()
        freedom += len(observed) - 1
    return stats.chi2.sf(statistic, freedom)


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(200, 60, 5, doc_length=(300, 500), topic_word_prior=0.5, random_state=0)


@pytest.fixture(scope="module")
def docstrings():
    return load_docstrings()


def test_make_lda_corpus_shapes_and_dtypes(corpus):
    assert corpus.data.format == "csr"
    assert corpus.data.shape == (200, 60)
    assert corpus.data.dtype == np.int64
    assert corpus.data.has_canonical_format
    assert corpus.data.data.min() >= 1
    assert corpus.topic_word.shape == (5, 60)
    assert corpus.doc_topic.shape == (200, 5)
    assert corpus.doc_length.dtype == np.int64
    assert corpus.topic_assignments.dtype == np.int32
    assert (corpus.doc_topic_prior, corpus.topic_word_prior) == (0.1, 0.5)


def test_make_lda_corpus_sums(corpus):
    np.testing.assert_allclose(corpus.topic_word.sum(axis=1), 1)
    np.testing.assert_allclose(corpus.doc_topic.sum(axis=1), 1)
    np.testing.assert_array_equal(corpus.data.sum(axis=1).A1, corpus.doc_length)
    assert corpus.topic_assignments.shape == (corpus.doc_length.sum(),)


def test_topics_of_a_word_of_a_document_are_sorted(corpus):
    documents, words = tokens(corpus)
    order = np.lexsort((corpus.topic_assignments, words, documents))
    np.testing.assert_array_equal(order, np.arange(len(order)))


@pytest.mark.mutation
def test_words_follow_their_topics(corpus):
    _, words = tokens(corpus)
    counts = cross_counts(corpus.topic_assignments, words, corpus.topic_word.shape)
    assert multinomial_p_value(counts, corpus.topic_word) > FALSE_ALARM
    assert multinomial_p_value(counts, np.roll(corpus.topic_word, 1, axis=0)) < FALSE_ALARM


@pytest.mark.mutation
def test_topics_follow_their_documents(corpus):
    documents, _ = tokens(corpus)
    counts = cross_counts(documents, corpus.topic_assignments, corpus.doc_topic.shape)
    assert multinomial_p_value(counts, corpus.doc_topic) > FALSE_ALARM
    assert multinomial_p_value(counts, np.roll(corpus.doc_topic, 1, axis=1)) < FALSE_ALARM


@pytest.mark.mutation
def test_proportions_follow_their_priors():
    doc_topic_prior, topic_word_prior = (np.array([0.2, 0.7, 2.0]), np.array([[0.3], [1.0], [4.0]]) * np.ones(400))
    corpus = make_lda_corpus(
        2000, 400, 3, doc_length=1, doc_topic_prior=doc_topic_prior, topic_word_prior=topic_word_prior, random_state=0
    )
    total = doc_topic_prior.sum()
    for k, a in enumerate(doc_topic_prior):
        assert stats.kstest(corpus.doc_topic[:, k], stats.beta(a, total - a).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(corpus.doc_topic[:, k - 1], stats.beta(a, total - a).cdf).pvalue < FALSE_ALARM
    for k, a in enumerate([0.3, 1.0, 4.0]):
        # Words of one topic depend on each other through their sum only, which is negligible at V = 400.
        assert stats.kstest(corpus.topic_word[k], stats.beta(a, 399 * a).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(corpus.topic_word[k - 1], stats.beta(a, 399 * a).cdf).pvalue < FALSE_ALARM
    np.testing.assert_array_equal(corpus.doc_topic_prior, doc_topic_prior)
    np.testing.assert_array_equal(corpus.topic_word_prior, topic_word_prior)


@pytest.mark.parametrize("prior", [1e-3, 1e-8])
def test_small_priors_do_not_underflow(prior):
    corpus = make_lda_corpus(doc_topic_prior=prior, topic_word_prior=prior, random_state=0)
    np.testing.assert_allclose(corpus.topic_word.sum(axis=1), 1)
    np.testing.assert_allclose(corpus.doc_topic.sum(axis=1), 1)


def test_zipf_exponent_makes_frequencies_fall_with_the_word_id():
    corpus = make_lda_corpus(500, 1000, 20, zipf_exponent=1, topic_word_prior=0.2, random_state=0)
    assert corpus.topic_word_prior.shape == (1000,)
    np.testing.assert_allclose(corpus.topic_word_prior.mean(), 0.2)
    np.testing.assert_allclose(corpus.topic_word_prior[0], 10 * corpus.topic_word_prior[9])
    frequencies = corpus.data.sum(axis=0).A1
    assert frequencies[:10].mean() > 5 * frequencies[10:100].mean() > 25 * frequencies[100:].mean()
    flat = make_lda_corpus(500, 1000, 20, zipf_exponent=0, topic_word_prior=0.2, random_state=0)
    np.testing.assert_allclose(flat.topic_word_prior, 0.2)


@pytest.mark.parametrize(
    ("doc_length", "low", "high"),
    [
        (7, 7, 7),
        (np.int32(7), 7, 7),
        (0, 0, 0),
        ((3, 5), 3, 5),
        ([4] * 50, 4, 4),
        (np.arange(50), 0, 49),
        (np.full(50, 2.0), 2, 2),
        (stats.randint(2, 9), 2, 8),
    ],
)
def test_doc_length(doc_length, low, high):
    corpus = make_lda_corpus(50, 30, 2, doc_length=doc_length, random_state=0)
    assert (corpus.doc_length.min(), corpus.doc_length.max()) == (low, high)
    np.testing.assert_array_equal(corpus.data.sum(axis=1).A1, corpus.doc_length)


def test_doc_length_of_two_documents():
    assert make_lda_corpus(2, doc_length=[3, 90]).doc_length.tolist() == [3, 90]
    assert all(make_lda_corpus(2, doc_length=(5, 6)).doc_length <= 6)


@pytest.mark.parametrize("make_state", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)])
def test_same_random_state_same_corpus(make_state):
    first, second = (make_lda_corpus(doc_length=stats.poisson(20), random_state=make_state()) for _ in range(2))
    for name in ("topic_word", "doc_topic", "topic_assignments", "doc_length"):
        np.testing.assert_array_equal(first[name], second[name])
    assert (first.data != second.data).nnz == 0


def test_other_random_state_other_corpus():
    first, second = (make_lda_corpus(random_state=seed) for seed in (0, 1))
    assert (first.data != second.data).nnz > 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_documents": 0}, ValueError, "n_documents == 0, must be >= 1"),
        ({"n_features": 0}, ValueError, "n_features == 0, must be >= 1"),
        ({"n_components": 0}, ValueError, "n_components == 0, must be >= 1"),
        ({"n_components": 2.5}, TypeError, "n_components must be an instance of int"),
        ({"doc_topic_prior": 0}, ValueError, "doc_topic_prior must be positive and finite"),
        ({"doc_topic_prior": np.nan}, ValueError, "doc_topic_prior must be positive and finite"),
        ({"doc_topic_prior": "auto"}, TypeError, "doc_topic_prior must hold real numbers, got 'auto'"),
        ({"doc_topic_prior": [1, 2]}, ValueError, r"shape \(2,\); give a float or an array of shape \(10,\)"),
        ({"topic_word_prior": -0.1}, ValueError, "topic_word_prior must be positive and finite"),
        ({"topic_word_prior": np.ones((10, 2))}, ValueError, r"shape \(1000,\) or \(10, 1000\)"),
        ({"zipf_exponent": -1}, ValueError, "zipf_exponent must lie between 0 and 10, got -1"),
        ({"zipf_exponent": np.nan}, ValueError, "zipf_exponent must lie between 0 and 10, got nan"),
        ({"zipf_exponent": "1"}, TypeError, "zipf_exponent must be an instance of"),
        ({"doc_length": -1}, ValueError, "non-negative integers, got -1"),
        ({"doc_length": 2.5}, TypeError, r"doc_length must be an int, a tuple \(low, high\), an array"),
        ({"doc_length": True}, TypeError, "doc_length must be an int"),
        ({"doc_length": "poisson"}, TypeError, r"frozen distribution such as scipy.stats.poisson\(80\)"),
        ({"doc_length": (9, 3)}, ValueError, "the upper end of doc_length == 3, must be >= 9"),
        ({"doc_length": (-1, 3)}, ValueError, "the lower end of doc_length == -1, must be >= 0"),
        ({"doc_length": [1, 2, 3]}, ValueError, "one length for each of the 100 documents"),
        ({"doc_length": np.full(100, "a")}, TypeError, "doc_length must hold numbers"),
        ({"doc_length": np.full(100, np.nan)}, ValueError, "non-negative integers, got nan"),
        ({"doc_length": stats.norm(100, 5)}, ValueError, "choose a discrete distribution"),
        ({"random_state": "seed"}, ValueError, "cannot be used to seed"),
    ],
)
def test_bad_input(parameters, error, message):
    with pytest.raises(error, match=message):
        make_lda_corpus(**parameters)


def test_docstrings_figures(docstrings):
    X = docstrings.data
    assert X.shape == (1638, 2533)
    assert X.sum() == 112716
    assert X.dtype == np.int64
    assert X.has_canonical_format
    assert docstrings.feature_names.shape == (2533,)
    assert docstrings.target.shape == docstrings.collection.shape == docstrings.document_names.shape == (1638,)
    assert docstrings.target_names.shape == (16,)
    for figure in ("1,638", "2,533", "112,716", "16 subject groups"):
        assert figure in docstrings.DESCR


def test_docstrings_are_pruned(docstrings):
    X = docstrings.data
    assert X.sum(axis=1).min() >= 20
    assert X.getnnz(axis=0).min() >= 5
    similarity = cosine_similarity(X)
    np.fill_diagonal(similarity, 0)
    assert similarity.max() <= 0.9


def test_docstrings_names(docstrings):
    words, names = docstrings.feature_names, docstrings.document_names
    assert words.tolist() == sorted(set(words))
    assert all(word.isalpha() and word.islower() and len(word) >= 3 for word in words)
    assert not {"array", "parameter", "returns", "default", "ndarray", "the"} & set(words)
    assert len(set(names)) == len(names)
    assert "scipy.stats.pearsonr" in names


def test_docstrings_groups_and_collections(docstrings):
    assert np.bincount(docstrings.target, minlength=16).min() >= 40
    packages, sizes = np.unique(docstrings.collection, return_counts=True)
    assert packages.tolist() == ["numpy", "scipy", "sklearn"]
    assert sizes.min() >= 300


def test_docstrings_return_X_y(docstrings):
    X, y = load_docstrings(return_X_y=True)
    assert (X != docstrings.data).nnz == 0
    np.testing.assert_array_equal(y, docstrings.target)


def test_docstrings_loads_a_fresh_copy(docstrings):
    X, _ = load_docstrings(return_X_y=True)
    X.data[:] = 0
    assert load_docstrings().data.sum() == docstrings.data.sum() > 0


def test_docstrings_licences(docstrings):
    for holder in ("NumPy Developers", "SciPy Developers", "scikit-learn developers"):
        assert holder in docstrings.DESCR
    assert "Redistribution and use in source and binary forms" in docstrings.DESCR


def test_docstrings_files_are_small():
    for name, most in (("docstrings.npz", 200_000), ("docstring_texts.csv.xz", 700_000)):
        assert len(files("sklda.datasets").joinpath("data", name).read_bytes()) < most
