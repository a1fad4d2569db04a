"""CGS_p and CGS against enumeration and against a plain loop, and on another library's assignments."""

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, make_chain, make_corpus
from estimates import estimate_counts

import sklda
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling import point_estimates
from sklda._sampling.point_estimates import add_estimates


def from_chain(chain, method):
    return estimate_counts(chain.corpus, chain.priors, chain.topics, method)


def soft_counts_one_token_at_a_time(chain, alpha, eta):
    """The definition: every token's full conditional, added to its document and to its word."""
    corpus, n_topics = chain.corpus, chain.priors.n_components
    doc_of = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    doc_topic, topic_word = np.zeros((corpus.n_documents, n_topics)), np.zeros((n_topics, corpus.n_features))
    for i, (d, v) in enumerate(zip(doc_of, corpus.words, strict=True)):
        others = np.delete(np.arange(corpus.n_tokens), i)
        z, of_v = chain.topics[others], corpus.words[others] == v
        n = np.bincount(z[doc_of[others] == d], minlength=n_topics)
        m = np.bincount(z[of_v], minlength=n_topics)
        p = (n + alpha[d]) * (m + eta[:, v]) / (np.bincount(z, minlength=n_topics) + eta.sum(axis=1))
        doc_topic[d] += p / p.sum()
        topic_word[:, v] += p / p.sum()
    return doc_topic, topic_word


@pytest.mark.parametrize("method", ["cgs_p", "cgs"])
@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
def test_the_posterior_average_is_the_posterior_mean(method, alpha, eta):
    """Sum over z of p(z | w) theta(z) = E(theta | w): Papanikolaou et al. 2017, equations 34 to 39."""
    truth = Enumeration(DOCS, V, K, alpha, eta)
    average = sum(
        p * from_chain(make_chain(truth.corpus, truth.priors, z), method)[0]
        for p, z in zip(truth.posterior, truth.states, strict=True)
    )
    np.testing.assert_allclose(average, np.tensordot(truth.posterior, truth.n_dk, 1), rtol=1e-6)


def test_the_identity_fails_with_a_wrong_prior():
    alpha = np.array([0.2, 0.9])
    truth = Enumeration(DOCS, V, K, alpha, 0.3)
    wrong = Priors.make(alpha.mean(), 0.3, K, V)
    average = sum(
        p * from_chain(make_chain(truth.corpus, wrong, z), "cgs_p")[0]
        for p, z in zip(truth.posterior, truth.states, strict=True)
    )
    assert np.abs(average - np.tensordot(truth.posterior, truth.n_dk, 1)).max() > 1e-3


def test_soft_estimates_vary_less_than_hard_ones():
    truth = Enumeration(DOCS, V, K, np.array([0.2, 0.9]), 0.3)
    chains = [make_chain(truth.corpus, truth.priors, z) for z in truth.states]
    spread = {}
    for method in ("cgs_p", "cgs"):
        counts = np.array([from_chain(chain, method)[0] for chain in chains])
        mean = np.tensordot(truth.posterior, counts, 1)
        spread[method] = np.tensordot(truth.posterior, (counts - mean) ** 2, 1)
    assert (spread["cgs_p"] < spread["cgs"]).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6], ids=["plain", "nearly all weight on one topic"])
@pytest.mark.parametrize("own", [False, True], ids=["eta per word", "eta per topic and word"])
@pytest.mark.parametrize("n_rows", [1, 5], ids=["shared alpha", "alpha per document"])
def test_once_a_word_is_once_a_token(n_rows, own, scale):
    rng = np.random.default_rng(0)
    docs = [rng.choice(6, size=n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]) for n in (1, 12, 0, 30, 25)]
    corpus = make_corpus(docs, 6)
    alpha = np.broadcast_to(scale * (rng.gamma(1, size=(n_rows, 4)) + 0.1), (5, 4))
    eta = np.float32(scale * (rng.gamma(1, size=(4, 6) if own else 6) + 0.1)).astype(float)
    priors = Priors.make(alpha[0] if n_rows == 1 else alpha, eta, 4, 6, 5)
    chain = make_chain(corpus, priors, rng.integers(4, size=corpus.n_tokens))
    found = from_chain(chain, "cgs_p")
    for ours, plain in zip(
        found, soft_counts_one_token_at_a_time(chain, alpha, np.broadcast_to(eta, (4, 6))), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-6, atol=1e-12)


def test_no_digits_are_lost_where_other_topics_have_hardly_any_weight():
    """Each word has one token, and with a tiny eta no other topic explains it: 1 / W without it is about 1e12."""
    corpus, eta = make_corpus([np.array(words) for words in ([0], [1, 2], [3, 4, 5])], 6), np.full((2, 6), 1e-12)
    chain = make_chain(corpus, Priors.make(1.0, 1e-12, 2, 6), np.array([0, 0, 1, 1, 1, 0]))
    for ours, plain in zip(
        from_chain(chain, "cgs_p"), soft_counts_one_token_at_a_time(chain, np.ones((3, 2)), eta), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-6)


def test_blocks_of_words(monkeypatch):
    """Blocks of a few words give the counts of one block; one word has most of the tokens."""
    X = np.random.default_rng(0).poisson(0.7, (40, 23))
    X[:, 5] += 20
    X[3] = 0
    corpus, z = Corpus.from_counts(X), np.random.default_rng(1).integers(0, 5, X.sum()).astype(np.uint8)
    for alpha, eta in ((0.1, 0.3), (np.full((40, 5), 0.2), np.random.default_rng(2).gamma(1, size=(5, 23)) + 0.1)):
        priors = Priors.make(alpha, eta, 5, 23, 40)
        for method in ("cgs", "cgs_p"):
            monkeypatch.setattr(point_estimates, "_BLOCK_COUNTS", 2**19)
            whole = estimate_counts(corpus, priors, z, method)
            assert len(list(point_estimates.word_blocks(corpus, 5))) == 1
            monkeypatch.setattr(point_estimates, "_BLOCK_COUNTS", 64)
            blocks = list(point_estimates.word_blocks(corpus, 5))
            assert len(blocks) > 5
            assert [b.features.stop for b in blocks[:-1]] == [b.features.start for b in blocks[1:]]
            for ours, expected in zip(estimate_counts(corpus, priors, z, method), whole, strict=True):
                np.testing.assert_allclose(ours, expected, rtol=1e-12)
                np.testing.assert_allclose(ours.sum(), X.sum(), rtol=1e-12)


def test_assignments_may_come_document_by_document():
    X = np.array([[2, 1, 0], [0, 0, 0], [0, 1, 2]])
    flat = sklda.GibbsLDA.from_assignments(X, [0, 0, 1, 1, 1, 0])
    parts = sklda.GibbsLDA.from_assignments(X, [[0, 0, 1], [], [1, 1, 0]])
    np.testing.assert_array_equal(flat.doc_topic_, parts.doc_topic_)


@pytest.mark.parametrize(
    "topics, options, error, message",
    [
        ([0, 1], {}, ValueError, r"shape \(2,\); X has 3 tokens"),
        ([[0, 1], [0], [1]], {}, ValueError, "has 3 documents, X has 2"),
        ([[0], [0, 1]], {}, ValueError, r"topic_assignments\[0\] has 1 topics; document 0 of X has 2"),
        ([0, 1, 2], {"n_components": 2}, ValueError, "ranges from 0 to 2; with n_components=2"),
        ([0, -1, 2], {}, ValueError, "ranges from -1 to 2"),
        ([2**32] * 3, {"n_components": 2}, ValueError, "ranges from 4294967296 to 4294967296; with n_components=2"),
        ([2**32] * 3, {}, ValueError, "contains 4294967296, so there would be 4294967297 topics"),
        ([2**31 - 1] * 3, {}, ValueError, r"would be 2147483648 topics, but X has 3 tokens\. Set n_components"),
        ([0, 1, 1], {"n_components": 0}, ValueError, "'n_components' parameter of GibbsLDA"),
        ([0, 1, 1], {"n_components": 2**31}, ValueError, "n_components must lie between 1 and 2147483647"),
        ([0, 1, 1], {"n_components": 2.0}, ValueError, "'n_components' parameter of GibbsLDA"),
        ([0.0, 1.0, 1.0], {}, TypeError, "must hold integers, got float64"),
        ([0, 1, 1], {"point_estimate": "map"}, ValueError, "'point_estimate' parameter of GibbsLDA"),
        ([0, 1, 1], {"doc_topic_prior": -1.0}, ValueError, "'doc_topic_prior' parameter of GibbsLDA"),
        ([0, 1, 1], {"topic_word_prior": [1.0, 1.0, 1.0]}, ValueError, r"shape \(3,\)"),
    ],
)
def test_bad_assignments(topics, options, error, message):
    with pytest.raises(error, match=message):
        sklda.GibbsLDA.from_assignments(np.array([[1, 1], [0, 1]]), topics, **options)


def test_assignments_in_a_series_without_row_0():
    pandas = pytest.importorskip("pandas")
    X, topics = np.array([[2, 1], [0, 1]]), [0, 0, 1, 1]
    expected = sklda.GibbsLDA.from_assignments(X, topics)
    for given in (topics, [topics[:3], topics[3:]]):
        found = sklda.GibbsLDA.from_assignments(X, pandas.Series(given, index=range(7, 7 + len(given))))
        np.testing.assert_array_equal(found.doc_topic_, expected.doc_topic_)


def test_another_library_s_assignments():
    """tomotopy keeps tokens in their own order and numbers words as it meets them."""
    tomotopy = pytest.importorskip("tomotopy")
    truth = sklda.datasets.make_lda_corpus(60, 80, 4, doc_length=50, topic_word_prior=0.05, random_state=0)
    model = tomotopy.LDAModel(k=4, alpha=0.1, eta=0.05, seed=1)
    for row in truth.data.toarray():
        model.add_doc([str(v) for v in np.repeat(np.arange(80), row)])
    model.optim_interval = 0
    model.train(200, workers=1)

    ids = np.array([int(word) for word in model.used_vocabs])
    assignments = []
    for doc in model.docs:
        order = np.argsort(ids[np.asarray(doc.words)], kind="stable")
        assignments.append(np.asarray(doc.topics)[order])
    found = sklda.GibbsLDA.from_assignments(
        truth.data, assignments, n_components=4, doc_topic_prior=0.1, topic_word_prior=0.05
    )
    theirs = np.array([doc.get_topic_dist() for doc in model.docs])
    # the same draw seen through expected counts: near their estimate, and nearer to the truth
    assert np.abs(found.doc_topic_ - theirs).mean() < 0.03
    match = np.array([[np.abs(a - b).sum() for b in truth.doc_topic.T] for a in theirs.T]).argmin(axis=1)
    error = [np.abs(estimate - truth.doc_topic[:, match]).mean() for estimate in (found.doc_topic, theirs)]
    assert sorted(match) == [0, 1, 2, 3]
    assert error[0] < error[1]


@pytest.mark.parametrize("method", ["cgs", "cgs_p"])
def test_sums_in_single_precision_do_not_stay_at_two_to_the_24(method):
    """Draws of a document are added to those before: ones that are added to 2^24 would be lost."""
    corpus = Corpus.from_counts(np.array([[300, 100], [5, 3]]))
    priors = Priors.make(0.1, np.array([[1e9, 1e-3], [1e-3, 1e9]]), 2, 2)
    first = np.float32(2**24)
    doc_topic, topic_word = np.full((2, 2), first, np.float32), np.zeros((2, 2), np.float32)
    add_estimates(corpus, priors, corpus.words.copy(), doc_topic, topic_word, method)
    np.testing.assert_allclose(doc_topic - first, [[300, 100], [5, 3]], atol=1)
