"""Topics of tokens: the right words, the exact full conditionals, and draws from the exact distribution."""

import itertools

import numpy as np
import pytest
from enumeration import chi_square_p, make_copies, make_corpus
from scipy import sparse
from scipy.special import gammaln
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import CollapsedVariationalLDA, CompoundLDA, GibbsLDA, TopicCountLDA
from sklda._likelihood.held_out.token_topics import draw_topics
from sklda.datasets import load_docstrings, make_compound_lda_corpus, make_lda_corpus
from sklda.inspection import describe, token_topics

ALARM = 1e-6
TEXTS = ["banana apple banana cherry", "cherry banana", "engine car wheel", "wheel car engine car"]


def log_joint(words, documents, topics, alpha, eta):
    """log p(w, z | alpha, eta) up to a constant; alpha (D, K), eta (K, V)."""
    K, V = eta.shape
    n = np.zeros(alpha.shape)
    m = np.zeros((K, V))
    np.add.at(n, (documents, topics), 1)
    np.add.at(m, (topics, words), 1)
    return gammaln(n + alpha).sum() + gammaln(m + eta).sum() - gammaln((m + eta).sum(axis=1)).sum()


def exact_conditionals(words, documents, topics, alpha, eta):
    """Full conditionals of all tokens, from ratios of the joint distribution."""
    rows = []
    for i in range(len(topics)):
        changed = [np.where(np.arange(len(topics)) == i, k, topics) for k in range(len(eta))]
        values = np.array([log_joint(words, documents, z, alpha, eta) for z in changed])
        rows.append(np.exp(values - values.max()) / np.exp(values - values.max()).sum())
    return np.array(rows)


def shuffled(X, seed=0):
    """The same matrix with the indices of every row in another order."""
    X = sparse.csr_matrix(X)
    rng = np.random.default_rng(seed)
    for start, end in itertools.pairwise(X.indptr):
        order = start + rng.permutation(end - start)
        X.indices[start:end], X.data[start:end] = X.indices[order], X.data[order]
    X.has_sorted_indices = False
    X.has_canonical_format = False
    return X


def test_words_are_right_where_indices_are_not_sorted():
    docstrings = load_docstrings()
    X = shuffled(docstrings.data[:300])
    names = docstrings.feature_names
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}
    lda = GibbsLDA(5, **priors, max_iter=3, random_state=0).fit(X)
    table = token_topics(describe(lda, vocabulary=names), X)
    place = {word: v for v, word in enumerate(names)}
    words, documents = table["word"].map(place).to_numpy(), table["document"].astype(int).to_numpy()
    counts = sparse.coo_matrix((np.ones(len(table)), (documents, words)), X.shape).toarray()
    np.testing.assert_array_equal(counts, X.toarray())
    # The counts by topic and word, and by document and topic, are those of the assignments.
    counted = GibbsLDA.from_assignments(X, lda.topic_assignments_, **priors, point_estimate="cgs")
    m = np.zeros(lda.components_.shape)
    np.add.at(m, (table["topic"], words), 1)
    np.testing.assert_allclose(m + 0.05, counted.components_, rtol=1e-6)
    n = np.zeros(lda.doc_topic_.shape)
    np.add.at(n, (documents, table["topic"]), 1)
    np.testing.assert_allclose((n + 0.1) / (n + 0.1).sum(axis=1, keepdims=True), counted.doc_topic_, rtol=1e-6)
    # The obvious code names other words.
    assert (np.repeat(X.indices, X.data) != words).mean() > 0.5


def test_a_pipeline_with_a_vectorizer():
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(TEXTS)
    table = token_topics(describe(pipeline, TEXTS, document_names=list("abcd")))
    for name, text in zip("abcd", TEXTS, strict=True):
        assert sorted(text.split()) == table["word"][table["document"] == name].tolist()
    assert table.groupby("word")["topic"].nunique().max() == 1


SEEDS = np.arange(1, 16).reshape(3, 5) / 9
SMALL = make_lda_corpus(6, 5, 3, doc_length=[0, 1, 4, 6, 9, 3], random_state=1).data
FITS = {
    "symmetric": (GibbsLDA(3, doc_topic_prior=0.3, topic_word_prior=0.2, max_iter=4, random_state=0), 0.3, 0.2),
    "vectors": (
        GibbsLDA(3, doc_topic_prior=[0.1, 0.5, 2], topic_word_prior=np.arange(1, 6) / 5, max_iter=4, random_state=0),
        np.array([0.1, 0.5, 2]),
        np.arange(1, 6) / 5,
    ),
    "seeded topics": (GibbsLDA(3, doc_topic_prior=0.3, topic_word_prior=SEEDS, max_iter=4, random_state=0), 0.3, SEEDS),
}


@pytest.mark.parametrize("name", FITS)
def test_full_conditionals_of_a_fit_are_ratios_of_the_joint_distribution(name):
    lda, alpha, eta = FITS[name]
    check_conditionals(lda.fit(SMALL), SMALL, np.broadcast_to(alpha, (6, 3)), np.broadcast_to(eta, (3, 5)))


def check_conditionals(lda, X, alpha, eta, rtol=1e-9):
    words = np.concatenate([np.repeat(np.arange(X.shape[1]), row) for row in X.toarray()])
    lengths = np.ravel(X.sum(axis=1))
    documents = np.repeat(np.arange(X.shape[0]), lengths)
    expected = exact_conditionals(words, documents, lda.topic_assignments_, alpha, eta)
    for d in range(X.shape[0]):
        table = token_topics(lda, X, document=d)
        found = table.filter(regex="^topic_").to_numpy()
        assert table["word"].tolist() == words[documents == d].astype(str).tolist()
        assert table["topic"].tolist() == lda.topic_assignments_[documents == d].tolist()
        np.testing.assert_allclose(found, expected[documents == d], rtol=rtol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_full_conditionals_of_other_estimators():
    corpus = make_compound_lda_corpus([4, 3], 6, 3, doc_length=6, random_state=0)
    lda = CompoundLDA(3, max_iter=20, topic_word_prior=0.3, random_state=0)
    lda.fit(corpus.data, collections=corpus.collections)
    alpha = lda.document_prior(corpus.collections)
    check_conditionals(lda, corpus.data, alpha, np.full((3, 6), 0.3))
    options = {"share_concentration": "equal", "max_iter": 300, "random_state": 0}
    lda = TopicCountLDA(min_components=2, max_components=3, doc_topic_prior=0.2, topic_word_prior=0.3, **options)
    lda.fit(SMALL)
    K = lda.n_components_
    # The shares are nearly equal.
    check_conditionals(lda, SMALL, np.full((6, K), 0.2), np.full((K, 5), 0.3), rtol=0.02)


def test_the_average_of_the_full_conditionals_is_the_point_estimate():
    priors = {"doc_topic_prior": 0.3, "topic_word_prior": 0.2}
    lda = GibbsLDA(3, **priors, max_iter=4, random_state=0).fit(SMALL)
    estimates = GibbsLDA.from_assignments(SMALL, lda.topic_assignments_, **priors)
    for d in range(6):
        expected = token_topics(lda, SMALL, document=d).filter(regex="^topic_").to_numpy().sum(axis=0) + 0.3
        np.testing.assert_allclose(estimates.doc_topic_[d], expected / expected.sum(), rtol=1e-5)


PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
ALPHA = np.array([[0.2, 0.5, 1.0]])


def fold_in_p(words, wrong_alpha=ALPHA):
    """p-value of the states of 1,500 copies of a document, each with its own stream, against their probabilities."""
    corpus = make_copies(words, 1500, 4)
    states = list(itertools.product(range(3), repeat=len(words)))
    weights = np.array(
        [np.prod(PHI[list(z), words]) * np.exp(gammaln(np.bincount(z, minlength=3) + ALPHA[0]).sum()) for z in states]
    )
    index = {z: i for i, z in enumerate(states)}
    draws = draw_topics(corpus, PHI, wrong_alpha, n_sweeps=20, seed=0).reshape(1500, -1)
    seen = np.bincount([index[tuple(z.tolist())] for z in draws], minlength=len(states))
    return chi_square_p(seen, weights / weights.sum())


@pytest.mark.mutation("test_draws_with_another_prior_are_found")
@pytest.mark.parametrize("words", [[0, 3], [0, 1, 3], [0, 0, 3, 3]])
def test_new_tokens_follow_their_exact_distribution(words):
    assert fold_in_p(words) > ALARM


def test_draws_with_another_prior_are_found():
    assert fold_in_p([0, 1, 3], np.array([[1.0, 0.5, 0.2]])) < ALARM


def test_new_documents():
    corpus = make_lda_corpus(60, 30, 4, doc_length=40, random_state=0).data
    lda = GibbsLDA(4, doc_topic_prior=0.2, topic_word_prior=0.1, max_iter=60, random_state=0).fit(corpus[:40])
    new = shuffled(corpus[40:])
    table = token_topics(lda, new)
    counts = np.zeros(new.shape, int)
    np.add.at(counts, (table["document"].astype(int), table["word"].astype(int)), 1)
    np.testing.assert_array_equal(counts, new.toarray())
    # A document's draw depends neither on other documents nor on n_jobs.
    alone = token_topics(lda, new[7:8])
    assert alone["topic"].tolist() == table["topic"][table["document"] == 7].tolist()
    lda.set_params(n_jobs=2)
    assert token_topics(lda, new).equals(table)
    # p(z_i = k | other z, w) from the counts of the others in the document.
    own = token_topics(lda, new, document=7)
    z, v = own["topic"].to_numpy(), own["word"].astype(int).to_numpy()
    for i in range(len(z)):
        weight = (np.bincount(np.delete(z, i), minlength=4) + 0.2) * lda.topic_word_[:, v[i]]
        np.testing.assert_allclose(own.filter(regex="^topic_").to_numpy()[i], weight / weight.sum())


def test_a_fit_without_sweeps_gives_the_most_probable_topics():
    X = make_lda_corpus(10, 20, 2, random_state=0).data
    lda = CollapsedVariationalLDA(2, random_state=0).fit(X)
    for documents, theta in ((X, lda.doc_topic_), (X[:3], lda.transform(X[:3]))):
        table = token_topics(lda, documents, document=2)
        weights = theta[2] * lda.topic_word_[:, table["word"].astype(int)].T
        np.testing.assert_allclose(
            table.filter(regex="^topic_").to_numpy(), weights / weights.sum(axis=1, keepdims=True)
        )
        assert table["topic"].tolist() == weights.argmax(axis=1).tolist()


def test_arrays_and_models_of_others():
    phi, theta = PHI, np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]])
    X = np.array([[2, 0, 0, 1], [0, 1, 1, 0]])
    table = token_topics((phi, theta), X)
    weights = np.array([theta[0] * phi[:, 0]] * 2 + [theta[0] * phi[:, 3], theta[1] * phi[:, 1], theta[1] * phi[:, 2]])
    assert table["topic"].tolist() == weights.argmax(axis=1).tolist()
    found = token_topics((phi, theta), X, document=1).filter(regex="^topic_").to_numpy()
    np.testing.assert_allclose(found, weights[3:] / weights[3:].sum(axis=1, keepdims=True))
    nmf = NMF(2, random_state=0, max_iter=400).fit(SMALL)
    assert set(token_topics(nmf, SMALL)["topic"]) <= {-1, 0, 1}


def test_a_word_that_no_topic_has():
    phi = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    table = token_topics((phi, [[0.5, 0.5]]), [[1, 0, 2]], document=0)
    assert table["topic"].tolist() == [0, -1, -1]
    np.testing.assert_array_equal(table[["topic_0", "topic_1"]][1:], 0)
    corpus = make_corpus([[0, 2, 2]], 3)
    topics = draw_topics(corpus, phi, np.array([[0.1, 0.1]]), n_sweeps=5, seed=0)
    assert topics[0] in (0, 1) and topics[1:].tolist() == [-1, -1]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"document": 6}, ValueError, "document must lie between 0 and 5, got 6"),
        ({"document": -1}, ValueError, "document must lie between 0 and 5, got -1"),
        ({"document": "a"}, TypeError, "document must be an int, got 'a'"),
        ({"X": None}, ValueError, "X is None: give the documents"),
        ({"X": SMALL * 0.5}, ValueError, "is not a whole number: a topic model takes word counts"),
    ],
)
def test_bad_input(options, error, message):
    lda = GibbsLDA(2, max_iter=1).fit(SMALL)
    with pytest.raises(error, match=message):
        token_topics(**{"X": SMALL, "estimator": lda} | options)
