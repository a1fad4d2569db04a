"""CollapsedVariationalLDA: fits, streams, and what it promises."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import HashingVectorizer

from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda._models.variational import batch
from sklda._sampling.matching import match_distributions
from sklda.datasets import load_docstrings, make_lda_corpus

SEED = {"random_state": 0}
METHODS = ("batch", "online")


def make(**parameters):
    return CollapsedVariationalLDA(**{"n_components": 4, "max_iter": 6, "batch_size": 20, **SEED, **parameters})


@pytest.fixture(scope="module")
def large():
    """Several blocks, and two thousand tokens: priors are learnt."""
    return make_lda_corpus(400, 300, 5, doc_length=120, topic_word_prior=0.05, random_state=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("learn", [True, False])
def test_results_do_not_depend_on_n_jobs(large, same_fit, method, learn, monkeypatch):
    monkeypatch.setattr(batch, "BLOCK_ENTRIES", 1000)
    fits = [
        make(learning_method=method, learn_priors=learn, evaluate_every=2, n_jobs=n_jobs).fit(large.data)
        for n_jobs in (None, 2, 5)
    ]
    for other in fits[1:]:
        assert same_fit(fits[0], other)
        assert np.array_equal(fits[0].transform(large.data), other.transform(large.data))
        other.partial_fit(large.data[:90])
    fits[0].partial_fit(large.data[:90])
    assert all(same_fit(fits[0], other) for other in fits[1:])


@pytest.mark.parametrize("method", METHODS)
def test_equal_seeds_give_equal_fits_and_others_do_not(counts, same_fit, method):
    first, second = (make(learning_method=method).fit(counts) for _ in range(2))
    assert same_fit(first, second)
    assert not same_fit(first, make(learning_method=method, random_state=1).fit(counts))


def test_transform_depends_on_the_document_only(counts):
    lda = make().fit(counts)
    theta = lda.transform(counts)
    order = np.random.default_rng(0).permutation(150)
    assert np.array_equal(lda.transform(counts[order]), theta[order])
    assert np.array_equal(lda.transform(counts[[7]]), theta[[7]])
    assert np.array_equal(lda.transform(counts.toarray().astype(np.float32)), theta)
    assert np.array_equal(lda.set_params(random_state=5).transform(counts), theta)
    np.testing.assert_allclose(theta[0], lda.doc_topic_prior_ / lda.doc_topic_prior_.sum())
    raw = lda.transform(counts, normalize=False)
    np.testing.assert_allclose(raw.sum(axis=1), counts.sum(axis=1).A1 + lda.doc_topic_prior_.sum(), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_topics_are_recovered(large, method):
    lda = make(n_components=5, learning_method=method, max_iter=20).fit(large.data)
    assert distances(large.topic_word, lda.topic_word_).max() < 0.15
    assert lda.bound_ < 1.05 * np.exp(-large_score(large))


def distances(topics, others):
    """Jensen-Shannon distances of matched topics."""
    return match_distributions(topics, others / others.sum(axis=1, keepdims=True))[1]


def same_numbers(topics, others):
    """The same, if every topic is matched with the one of its number."""
    topics = topics / topics.sum(axis=1, keepdims=True)
    order, found = match_distributions(topics, others / others.sum(axis=1, keepdims=True))
    assert order.tolist() == list(range(len(topics)))
    return found


def large_score(large):
    """The mean log-likelihood of a token at the true parameters."""
    X = large.data.tocoo()
    p = np.einsum("ik,ki->i", large.doc_topic[X.row], large.topic_word[:, X.col])
    return X.data @ np.log(p) / X.data.sum()


def test_learnt_priors_are_close_to_those_of_the_corpus():
    """They are too large: distributions in place of topics spread the counts of a document over more topics."""
    alpha = np.array([0.05, 0.2, 0.8])
    corpus = make_lda_corpus(600, 400, 3, doc_length=100, doc_topic_prior=alpha, topic_word_prior=0.1, random_state=2)
    for method, n in (("batch", 60), ("online", 20)):
        lda = CollapsedVariationalLDA(3, learning_method=method, max_iter=n, **SEED).fit(corpus.data)
        ratio = np.sort(lda.doc_topic_prior_) / alpha
        assert (ratio > 0.8).all()
        assert (ratio < 1.8).all()
        assert 0.08 < lda.topic_word_prior_ < 0.18
        symmetric = clone(lda).set_params(learn_priors="symmetric").fit(corpus.data)
        assert type(symmetric.doc_topic_prior_) is float
        assert 0.05 < symmetric.doc_topic_prior_ < 0.8
        fixed = clone(lda).set_params(doc_topic_prior=0.3, topic_word_prior=0.2, max_iter=3).fit(corpus.data)
        assert (fixed.doc_topic_prior_, fixed.topic_word_prior_) == (0.3, 0.2)


@pytest.mark.parametrize("method", METHODS)
def test_priors_of_every_shape(counts, method):
    rng = np.random.default_rng(0)
    alpha, eta = rng.uniform(0.1, 1, 4), rng.uniform(0.1, 1, (4, 60))
    for given in (eta, eta[0]):
        lda = make(learning_method=method, doc_topic_prior=alpha, topic_word_prior=given).fit(counts)
        assert np.array_equal(lda.doc_topic_prior_, alpha)
        assert np.array_equal(lda.topic_word_prior_, given)
        np.testing.assert_allclose(
            lda.components_.sum(),
            counts.sum() + np.broadcast_to(given, (4, 60)).sum(),
            rtol=1e-6 if method == "batch" else 0.02,
        )
        lda.partial_fit(counts)
        assert np.array_equal(lda.topic_word_prior_, given)


def test_a_seeded_topic_keeps_its_words(large):
    eta = np.full((5, 300), 0.05)
    words = large.topic_word.argmax(axis=1)
    eta[np.arange(5), words] = 50
    lda = make(n_components=5, topic_word_prior=eta).fit(large.data)
    assert same_numbers(lda.topic_word_, large.topic_word).max() < 0.2


def test_evaluations_and_the_early_end(large):
    lda = make(evaluate_every=2, max_iter=7, perp_tol=0).fit(large.data)
    assert lda.perplexity_trace_.shape == (3,)
    assert lda.n_iter_ == 7
    assert (np.diff(lda.perplexity_trace_) < 0).all()
    early = make(evaluate_every=1, max_iter=100, perp_tol=1.0).fit(large.data)
    assert 2 <= early.n_iter_ < 100
    assert abs(early.perplexity_trace_[-1] - early.perplexity_trace_[-2]) < 1
    assert early.bound_ == early.perplexity_trace_[-1]
    assert make().fit(large.data).perplexity_trace_.shape == (0,)


def test_verbose_says_the_memory_and_every_pass(counts, capsys):
    make(max_iter=2, verbose=1, evaluate_every=1).fit(counts)
    said = capsys.readouterr().out
    assert re.search(r"\[CollapsedVariationalLDA\] the distributions of topics take 0\.\d MB", said)
    assert "pass 2 of 2: perplexity" in said


class StopAfter:
    """A callback of scikit-learn that ends the fit after some passes."""

    def __init__(self, n_passes):
        self.left, self.fitted = n_passes, None

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.left -= context.task_name == "stage"
        self.fitted = fitted_estimator
        return context.task_name == "stage" and self.left == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_ends_the_fit(counts, same_fit, method):
    pytest.importorskip("sklearn.callback")
    callback = StopAfter(3)
    lda = make(learning_method=method, max_iter=50).set_callbacks(callback).fit(counts)
    assert lda.n_iter_ == 3
    assert callback.fitted.bound_ == lda.bound_
    lda.set_callbacks()
    assert same_fit(lda, make(learning_method=method, max_iter=3).fit(counts))


def test_a_fit_that_needs_too_much_memory_says_the_alternative(same):
    X = sp.csr_array(np.ones((1000, 1000), int))
    lda = make(n_components=200_000)
    before = dict(vars(lda))
    with pytest.raises(MemoryError, match=r"804\.8 GB.*learning_method='online' and partial_fit"):
        lda.fit(X)
    assert same(vars(lda), before)


def test_better_than_variational_bayes():
    X, _ = load_docstrings(return_X_y=True)
    train, test = X[::4], X[1::40]
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01, "random_state": 0}
    vb = LatentDirichletAllocation(15, max_iter=15, **priors).fit(train)
    ours = CollapsedVariationalLDA(15, max_iter=15, **priors).fit(train)
    theirs = clone(ours).set_params(max_iter=1).fit(train)
    theirs.components_ = vb.components_
    assert ours.score(test) > theirs.score(test) + 0.05


# --- streams ----------------------------------------------------------------------------------------------------------


def test_the_first_chunk_fixes_the_vocabulary(counts):
    lda = make().partial_fit(counts[:30])
    assert (lda.n_features_in_, lda.n_batch_iter_) == (60, 2)
    with pytest.raises(ValueError, match=r"59 features.* 60"):
        lda.partial_fit(counts[:, :59])
    for call in (lda.transform, lda.score):
        with pytest.raises(ValueError, match="X has 59 features"):
            call(counts[:, :59])
    with pytest.raises(ValueError, match=r"4 topics .*n_components is now 5"):
        lda.set_params(n_components=5).partial_fit(counts)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"doc_topic_prior": [0.1, 1, 5, 2]}, {"doc_topic_prior": 0.5}),
        ({"doc_topic_prior": None}, {"doc_topic_prior": 0.5}),
        ({"learn_priors": True}, {"learn_priors": False}),
        ({"learn_priors": False}, {"learn_priors": "symmetric"}),
        ({"topic_word_prior": [0.1] * 60}, {"topic_word_prior": 0.1}),
        ({"topic_word_prior": np.full((4, 60), 0.1)}, {"topic_word_prior": 0.1}),
        ({"topic_word_prior": 0.1}, {"topic_word_prior": None}),
    ],
)
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_stream_keeps_its_priors(counts, same, first, then, begin):
    lda = getattr(make(**first), begin)(counts)
    before = dict(vars(lda.set_params(**then)))
    (name,) = then
    with pytest.raises(ValueError, match=f"partial_fit continues a fit with {name}=.*, but {name} is now .* Clone the"):
        lda.partial_fit(counts)
    assert same(vars(lda), before)
    lda.set_params(**first).partial_fit(counts)


def test_a_stream_notices_an_array_that_has_changed(counts):
    alpha = np.array([0.1, 1, 5, 2])
    lda = make(doc_topic_prior=alpha, learn_priors=True).partial_fit(counts)
    alpha[0] = 3
    with pytest.raises(ValueError, match="partial_fit continues a fit with doc_topic_prior"):
        lda.partial_fit(counts)


@pytest.mark.parametrize("empty", [np.zeros((0, 60)), np.zeros((3, 60), int), sp.csr_array((0, 60), dtype=int)])
def test_empty_chunks_change_nothing(counts, empty):
    lda, other = make().partial_fit(empty), make().partial_fit(counts[:30])
    assert lda.n_batch_iter_ == 0
    before = other.components_.copy()
    assert np.array_equal(other.partial_fit(empty).components_, before)
    assert (lda.n_features_in_, other.n_batch_iter_) == (60, 2)
    # A stream that begins with an empty chunk goes on.
    np.testing.assert_allclose(lda.transform(counts).sum(axis=1), 1)
    assert lda.partial_fit(counts).n_batch_iter_ == 8


def test_chunks_are_cut_at_batch_size(counts):
    whole = make(total_samples=150).partial_fit(counts)
    parts = make(total_samples=150)
    for first in range(0, 150, 20):
        parts.partial_fit(counts[first : first + 20])
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-4)
    assert parts.n_batch_iter_ == whole.n_batch_iter_ == 8


def test_chunks_of_one_document(large):
    lda = make(n_components=5, total_samples=400, learn_priors=False)
    for row in range(200):
        lda.partial_fit(large.data[[row]])
    assert lda.n_batch_iter_ == 200
    np.testing.assert_allclose(lda.components_.sum() - 5 * 300 * 0.2, 400 * 120, rtol=0.02)
    random = make(n_components=5, total_samples=400, learn_priors=False).partial_fit(large.data[:0])
    assert lda.score(large.data[::8]) > random.score(large.data[::8]) + 0.3


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_after_a_fit(large, method):
    lda = make(n_components=5, learning_method=method, max_iter=20).fit(large.data[:200])
    before, scored = lda.components_.copy(), lda.score(large.data[200:])
    n_chunks = lda.n_batch_iter_
    assert n_chunks == 10 * (1 if method == "batch" else 20)
    lda.set_params(total_samples=400).partial_fit(large.data[200:])
    assert lda.n_batch_iter_ == n_chunks + 10
    assert not hasattr(lda, "doc_topic_")
    assert not hasattr(lda, "bound_")
    assert same_numbers(before, lda.components_).max() < 0.3
    assert lda.score(large.data[200:]) > scored - 0.02
    np.testing.assert_allclose(lda.components_.sum() - lda.topic_word_prior_ * 1500, 400 * 120, rtol=0.02)
    with pytest.raises(ValueError, match=r"partial_fit keeps no documents\. Call fit"):
        lda.sample_posterior()


def test_a_fit_after_a_stream_begins_again(large, same_fit):
    lda = make().partial_fit(large.data[:50])
    assert same_fit(lda.fit(large.data), make().fit(large.data))


def test_a_pickled_stream_goes_on(large, same_fit):
    lda = make()
    for first in range(0, 400, 100):
        if first == 200:
            copy = pickle.loads(pickle.dumps(lda))
        lda.partial_fit(large.data[first : first + 100])
    for first in (200, 300):
        copy.partial_fit(large.data[first : first + 100])
    assert same_fit(lda, copy)


def test_topics_follow_a_stream_that_changes():
    first, second = (
        make_lda_corpus(600, 200, 4, doc_length=80, topic_word_prior=0.03, random_state=seed) for seed in (0, 1)
    )
    lda = make(total_samples=600, learning_decay=0.3, learn_priors=False, doc_topic_prior=0.1)
    scores = []
    for X in (first.data[:500], second.data[:500]):
        lda.partial_fit(X)
        scores.append([lda.score(each.data[500:]) for each in (first, second)])
    (first_early, second_early), (first_late, second_late) = scores
    assert first_early > second_early + 0.3
    assert second_late > first_late + 0.3


def test_a_chunk_that_fails_changes_nothing(counts, same):
    lda = make().partial_fit(counts)
    before = dict(vars(lda))
    for bad, message in (
        (counts.toarray() * 0.5, "whole number"),
        (-counts, "negative"),
        (counts[:, :3], "3 features"),
    ):
        with pytest.raises(ValueError, match=message):
            lda.partial_fit(bad)
        assert same(vars(lda), before)


def test_hashed_words():
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"] * 30
    hashed = HashingVectorizer(n_features=2**10, alternate_sign=False, norm=None)
    lda = CollapsedVariationalLDA(2, total_samples=120, **SEED)
    for first in range(0, 120, 10):
        lda.partial_fit(hashed.transform(texts[first : first + 10]))
    best = lda.transform(hashed.transform(texts[:4])).argmax(axis=1)
    assert best[0] == best[1] != best[2] == best[3]


@pytest.mark.parametrize("method", METHODS)
def test_gibbs_sampling_starts_from_the_topics(large, method):
    start = make(n_components=5, learning_method=method, max_iter=20).fit(large.data)
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05, "max_iter": 2, **SEED}
    lda = GibbsLDA(5, init=start, **priors).fit(large.data)
    assert same_numbers(start.topic_word_, lda.topic_word_).max() < 0.15
    random = GibbsLDA(5, **priors).fit(large.data)
    assert lda.log_joint_trace_[0, 0] > random.log_joint_trace_[0, 0]


def test_new_words_of_a_stream_have_advice():
    lda = CollapsedVariationalLDA(2, random_state=0).partial_fit([[1, 2, 0], [0, 1, 1]])
    with pytest.raises(ValueError, match=r"has 4 features.* one vocabulary.*CountVectorizer\(vocabulary=.*Hashing"):
        lda.partial_fit([[1, 2, 0, 1]])
