"""Chains from topic assignments and from fitted models, and `from_assignments`."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from estimates import estimate_counts
from sklearn.base import clone
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.frozen import FrozenEstimator

from sklda import GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.initialisation import _drawn_topics
from sklda.datasets import count_tokens, make_lda_corpus

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PRIORS = {"doc_topic_prior": 0.2, "topic_word_prior": 0.1}


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(100, 60, 4, doc_length=50, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0)


def same_topics(lda, corpus):
    """Share of the tokens whose topics have the names of the simulation."""
    return (lda.topic_assignments_ == corpus.topic_assignments).mean()


@pytest.mark.parametrize("sampler", ["collapsed", "partitioned", "grouped", "partially_collapsed"])
def test_assignments_keep_the_names_of_topics(corpus, sampler, same):
    z = corpus.topic_assignments
    documents = np.split(z, np.cumsum(corpus.doc_length)[:-1])
    forms = [z, z.astype(np.int64), z.tolist(), documents, [each.tolist() for each in documents]]
    ldas = [GibbsLDA(4, init=each, sampler=sampler, max_iter=20, random_state=0).fit(corpus.data) for each in forms]
    # With random names, a quarter.
    assert same_topics(ldas[0], corpus) > 0.75
    for each in ldas[1:]:
        assert same(each.components_, ldas[0].components_)
    two = GibbsLDA(4, init=z, sampler=sampler, n_chains=2, max_iter=5, random_state=0).fit(corpus.data)
    first, second = two.chains_
    assert (first.topic_assignments != second.topic_assignments).any()
    assert (first.topic_assignments == second.topic_assignments).mean() > 0.75
    # `init` is not changed.
    np.testing.assert_array_equal(z, corpus.topic_assignments)


def test_fitted_models_give_their_topics(corpus):
    X = corpus.data
    models = [
        GibbsLDA(4, init=corpus.topic_assignments, max_iter=20, random_state=0).fit(X),
        LatentDirichletAllocation(4, max_iter=30, random_state=0).fit(X),
        NMF(4, init="nndsvda", max_iter=2000, random_state=0).fit(X.astype(float)),
        NMF(4, init="nndsvda", max_iter=2000, random_state=0).fit(X.astype(np.float32)),
    ]
    for model in models:
        lda = GibbsLDA(4, init=model, max_iter=10, random_state=0).fit(X)
        phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
        # Topics have the names that they have in the model.
        assert (np.sqrt(phi) @ np.sqrt(lda.topic_word_).T).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_copies_of_a_frozen_model_are_fitted(corpus, same):
    model = LatentDirichletAllocation(4, max_iter=5, random_state=0).fit(corpus.data)
    lda = GibbsLDA(4, init=FrozenEstimator(model), max_iter=3, random_state=0)
    plain = GibbsLDA(4, init=model, max_iter=3, random_state=0).fit(corpus.data)
    assert same(clone(lda).fit(corpus.data).components_, plain.components_)


def test_topics_are_drawn_from_theta_and_phi():
    class Model:
        components_ = np.array([[3.0, 0.0, 0.0], [1.0, 4.0, 0.0]])

        def transform(self, X):
            return np.array([[0.2, 0.8], [0.0, 0.0]])

    n = 4000
    corpus = Corpus(np.repeat([0, 1, 2, 0], n).astype(np.int32), np.array([0, 3 * n, 4 * n]), 3)
    model = Model()
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    topics = _drawn_topics(corpus, model.transform(None), phi, np.random.default_rng(0), lambda: None)
    shares = topics.reshape(4, n).mean(axis=1)
    first = 0.8 * 0.2 / (0.2 * 1 + 0.8 * 0.2)
    # Uniform for the third word, which no topic has, and for a document without topics.
    expected = [first, 1.0, 0.5, 0.5]
    assert (np.abs(shares - expected) <= 5 * np.sqrt(0.25 / n) * (np.array(expected) < 1)).all()
    X = np.array([[5, 5, 5], [5, 0, 0]])
    assert GibbsLDA(2, init=model, max_iter=2, random_state=0).fit(X).components_.shape == (2, 3)


class Odd:
    """A model with any components and theta."""

    def __init__(self, components, theta):
        self.components_, self.theta = components, theta

    def transform(self, X):
        return self.theta


ONES = np.ones((4, 60)), np.ones((100, 4))
BAD_INITS = [
    (np.zeros(3, int), ValueError, "init has shape"),
    (lambda z: z + 1, ValueError, "init ranges from 1 to 4; with n_components=4"),
    (lambda z: z - 1, ValueError, "init ranges from -1"),
    (lambda z: z.astype(float), TypeError, "init must hold integers"),
    (lambda z: z[None], ValueError, "init has 1 documents, X has 100"),
    (lambda z: z.reshape(50, 100), ValueError, "init has 50 documents"),
    (lambda z: [z[:50]] * 99 + [z[:49]], ValueError, r"init\[99\] has 49 topics; document 99 of X has 50"),
    ([], ValueError, "init has shape"),
    (NMF(4), ValueError, "must be a fitted model with components_.*FrozenEstimator"),
    (GibbsLDA(4), ValueError, "must be a fitted model with components_"),
    (GibbsLDA, ValueError, "must be a fitted model with components_"),
    (Odd(np.ones((3, 60)), ONES[1]), ValueError, r"components_ of init .* \(4, 60\).* has shape \(3, 60\)"),
    (Odd(np.ones((4, 59)), ONES[1]), ValueError, r"has shape \(4, 59\)"),
    (Odd(None, ONES[1]), ValueError, r"components_ of init must have shape"),
    (Odd("x", ONES[1]), TypeError, "components_ of init must hold numbers"),
    (Odd(ONES[0], np.ones((99, 4))), ValueError, r"transform\(X\) of init .*\(100, 4\).*\(99, 4\)"),
    (Odd(ONES[0], np.ones(100)), ValueError, r"transform\(X\) of init must have shape"),
    (Odd(ONES[0], "x"), TypeError, r"transform\(X\) of init must hold numbers"),
    (Odd(-ONES[0], ONES[1]), ValueError, "components_ of init must be finite and not negative"),
    (Odd(ONES[0], -ONES[1]), ValueError, r"transform\(X\) of init must be finite and not negative"),
    (Odd(np.full((4, 60), np.nan), ONES[1]), ValueError, "components_ of init must be finite"),
    (Odd(ONES[0], np.full((100, 4), np.inf)), ValueError, r"transform\(X\) of init must be finite"),
]


@pytest.mark.parametrize("init, error, message", BAD_INITS, ids=range(len(BAD_INITS)))
def test_bad_initial_states(corpus, init, error, message):
    if callable(init) and getattr(init, "__name__", "") == "<lambda>":
        init = init(corpus.topic_assignments)
    lda = GibbsLDA(4, init=init, max_iter=2)
    before = dict(vars(lda))
    with pytest.raises(error, match=message):
        lda.fit(corpus.data)
    assert vars(lda).keys() == before.keys()


@pytest.mark.parametrize("method", ["cgs", "cgs_p"])
def test_from_assignments_has_the_point_estimates(corpus, method):
    X, z = corpus.data, corpus.topic_assignments
    lda = GibbsLDA.from_assignments(X, z, point_estimate=method, **PRIORS)
    corpus = Corpus.from_counts(X)
    priors = Priors.make(PRIORS["doc_topic_prior"], PRIORS["topic_word_prior"], 4, corpus.n_features)
    doc_topic, topic_word = estimate_counts(corpus, priors, z, method)
    doc_topic += PRIORS["doc_topic_prior"]
    np.testing.assert_allclose(lda.doc_topic_, doc_topic / doc_topic.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(lda.components_, topic_word + PRIORS["topic_word_prior"], rtol=1e-6)
    np.testing.assert_array_equal(lda.topic_assignments_, z)
    assert (lda.n_components, lda.n_iter_, lda.n_draws_, lda.n_burn_in_) == (4, 0, 1, 0)
    assert (lda.doc_topic_prior_, lda.topic_word_prior_) == (0.2, 0.1)
    np.testing.assert_allclose(lda.topic_share_, np.bincount(z) / len(z))
    assert GibbsLDA.from_assignments(X, z, n_components=6, **PRIORS).components_.shape == (6, 60)


def test_from_assignments_learns_priors(corpus):
    X, z = corpus.data, corpus.topic_assignments
    lda = GibbsLDA.from_assignments(X, z)
    assert lda.doc_topic_prior_.shape == (4,)
    # On 20 corpora these logarithms of ratios to the true values had means of -0.035 and 0.052, and standard deviations
    # of 0.09 and 0.15. The bounds are five standard deviations from there; the initial priors are at 0.92 and 1.6.
    assert abs(np.log(lda.doc_topic_prior_.sum() / 0.4)) < 0.485
    assert abs(np.log(lda.topic_word_prior_ / 0.05)) < 0.81
    assert isinstance(GibbsLDA.from_assignments(X, z, learn_priors="symmetric").doc_topic_prior_, float)
    assert GibbsLDA.from_assignments(X, z, learn_priors=False).doc_topic_prior_ == 0.25


def test_from_assignments_is_a_fitted_estimator(corpus, same):
    X, z = corpus.data, corpus.topic_assignments
    lda = GibbsLDA.from_assignments(X, z, random_state=0, max_iter=30, warm_start=True)
    theta = lda.transform(X)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    # Two estimates of the same proportions.
    assert np.abs(theta - lda.doc_topic_).mean() < 0.1
    random = GibbsLDA.from_assignments(X, np.random.default_rng(0).permutation(z), random_state=0)
    assert lda.score(X) > random.score(X) + 0.1
    copy = pickle.loads(pickle.dumps(lda))
    assert same(copy.transform(X), theta)
    assert lda.sample_posterior(2, random_state=0).doc_topic.shape == (2, 100, 4)
    lda.fit(X)
    assert same(copy.fit(X).components_, lda.components_)
    assert same_topics(lda, corpus) > 0.75
    assert lda.n_iter_ == 30
    for trace in lda.traces_.values():
        assert trace.shape == (1, 30)
    assert lda.n_burn_in_ == 15
    # Draws are after sweeps 20 and 30.
    assert len(lda._results_.states[0].draws) == 2


@pytest.mark.parametrize("K, D", [(300, 100), (1, 100)])
def test_from_assignments_with_many_topics_or_one(corpus, K, D):
    X = corpus.data
    z = np.random.default_rng(0).integers(K, size=int(X.sum()))
    lda = GibbsLDA.from_assignments(X, z, n_components=K, random_state=0)
    assert lda.sampler_ == ("sparse" if K == 300 else "dense")
    np.testing.assert_allclose(lda.doc_topic_.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(lda.doc_topic_prior_).all()
    assert (lda.doc_topic_prior_ > 0).all()


def test_token_lists_of_another_library(corpus):
    """Tokens in the order of the text, each with its topic."""
    rng = np.random.default_rng(0)
    documents, topics = [], []
    starts = np.cumsum([0, *corpus.doc_length])
    words = np.concatenate([np.repeat(row.indices, row.data) for row in (corpus.data[d] for d in range(100))])
    for first, last in pairwise(starts):
        order = rng.permutation(last - first)
        documents.append(words[first:last][order].tolist())
        topics.append(corpus.topic_assignments[first:last][order].tolist())
    found = count_tokens(documents, topics, n_features=60)
    np.testing.assert_array_equal(found.data.toarray(), corpus.data.toarray())
    lda = GibbsLDA.from_assignments(found.data, found.topic_assignments, **PRIORS)
    # Tokens of one word in one document have no order, so topics may be exchanged among them.
    expected = GibbsLDA.from_assignments(corpus.data, corpus.topic_assignments, **PRIORS)
    np.testing.assert_allclose(lda.doc_topic_, expected.doc_topic_, rtol=1e-6)
    np.testing.assert_allclose(lda.components_, expected.components_, rtol=1e-6)
    lda = GibbsLDA(4, init=found.topic_assignments, max_iter=20, random_state=0).fit(found.data)
    np.testing.assert_allclose(lda.doc_topic_.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "X, z, parameters, error, message",
    [
        (np.zeros((2, 3), int), [], {}, ValueError, "no token at all"),
        (np.ones((2, 3), int), [0] * 5, {}, ValueError, "has shape"),
        (np.ones((2, 3), int), [0] * 5 + [-1], {}, ValueError, "ranges from -1"),
        (np.ones((2, 3), int), [0] * 5 + [3], {"n_components": 3}, ValueError, "ranges from 0 to 3"),
        (np.ones((2, 3), int), [0.0] * 6, {}, TypeError, "must hold integers"),
        (np.ones((2, 3), int), None, {}, TypeError, "must hold a topic for every token"),
        (np.ones((2, 3), int), "abc", {}, TypeError, "must hold a topic for every token"),
        (np.ones((2, 3), int), [0] * 6, {"n_components": 0}, ValueError, "n_components"),
        (np.ones((2, 3), int), [0] * 6, {"n_components": 1.5}, (TypeError, ValueError), "n_components"),
        (np.ones((2, 3), int), [0] * 6, {"n_draws": 0}, ValueError, "n_draws"),
        (np.ones((2, 3), int), [0] * 6, {"nothing": 0}, TypeError, "nothing"),
        (-np.ones((2, 3), int), [0] * 6, {}, ValueError, "negative|-1"),
    ],
)
def test_bad_assignments(X, z, parameters, error, message):
    with pytest.raises(error, match=message):
        GibbsLDA.from_assignments(X, z, **parameters)


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_seed_words_of_topics_that_are_known_from_the_assignments(corpus):
    seeds = {"new": [5], "last": {0: 7}}
    lda = GibbsLDA.from_assignments(corpus.data, corpus.topic_assignments, seed_words=seeds, learn_priors=False)
    np.testing.assert_allclose(lda.topic_word_prior_[:, 0], [0.25, 7.25, 0.25, 0.25], rtol=1e-6)
    assert lda.topic_names_[:2].tolist() == ["new", "last"]
