"""HDPLDA: what a fit offers, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning

from sklda import HDPLDA, CompoundLDA, GibbsLDA, merge_topics
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus


@pytest.fixture(scope="module")
def corpus():
    return make_compound_lda_corpus(
        [25, 20, 15], 40, 3, doc_length=50, doc_concentration=3, topic_word_prior=0.05, random_state=0
    )


def make(**options):
    given = {"topic_word_prior": 0.1, "max_iter": 60, "random_state": 0}
    return HDPLDA(**{"max_components": 60, **given, **options})


pytestmark = pytest.mark.filterwarnings("ignore:The draws use up to")


@pytest.fixture(params=["one collection", "three collections"])
def collections(request, corpus):
    return None if request.param == "one collection" else corpus.collections


def test_what_a_fit_offers(corpus, collections):
    lda = make(n_chains=2).fit(corpus.data, collections=collections)
    K, J = len(lda.components_), len(lda.collections_)
    # 60 sweeps, of which half are burn-in.
    assert lda.topic_count_draws_.shape == lda.large_topic_count_draws_.shape == (60,)
    np.testing.assert_array_equal(lda.topic_count_draws_, lda.traces_["topic_count"][:, 30:].ravel())
    assert lda.topic_count_mean_ == lda.topic_count_draws_.mean()
    low, high = lda.topic_count_interval_
    assert lda.topic_count_draws_.min() <= low <= high <= lda.topic_count_draws_.max()
    assert (lda.large_topic_count_draws_ <= lda.topic_count_draws_).all()
    names = {"topic_concentration", "doc_concentration"} | ({"collection_concentration"} if J > 1 else set())
    assert set(lda.concentration_draws_) == names
    for name in names:
        assert getattr(lda, f"{name}_") == lda.concentration_draws_[name].mean()
        assert name in lda.diagnostics_
    assert hasattr(lda, "collection_concentration_") == (J > 1)
    # The draws have all topics of the attributes but the last one.
    assert lda.topic_count_draws_[-1] <= K - 1 < 60
    assert lda.topic_assignments_.max() <= K - 2
    assert lda.topic_share_[-1] == 0
    # Its expected counts are those of tokens that could open a new topic.
    assert 0 <= (lda.components_[-1] - 0.1).sum() < 5
    assert lda.doc_topic_.shape == lda.doc_topic_std_.shape == (60, K)
    assert lda.collection_topic_.shape == lda.collection_topic_std_.shape == (J, K)
    np.testing.assert_allclose(lda.collection_topic_.sum(axis=1), 1)
    np.testing.assert_allclose(lda.collection_topic_draws_.sum(axis=2), 1)
    assert (lda.collection_topic_std_ > 0).all()
    for own in lda.chains_:
        rest = own.collection_topic_draws[:, :, -1]
        np.testing.assert_allclose(own.collection_topic_std[:, -1], rest.std(axis=0, ddof=1))
    samples = lda.sample_posterior(3, random_state=0)
    assert samples.doc_topic.shape == (3, 60, K)
    np.testing.assert_allclose(samples.doc_topic.sum(axis=2), 1, rtol=1e-5)
    theta = lda.transform(corpus.data, collections=collections)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert np.isfinite(lda.score_samples(corpus.data)).all()
    merged = merge_topics(lda, [[0, 1]])
    assert merged.transform(corpus.data).shape == (60, K - 1)


def test_given_concentrations_stay(corpus):
    lda = make(topic_concentration=2.5, collection_concentration=(2.0, 1.0), doc_concentration=1.5)
    lda.fit(corpus.data, collections=corpus.collections)
    assert (lda.topic_concentration_, lda.doc_concentration_) == (2.5, 1.5)
    assert np.ptp(lda.concentration_draws_["collection_concentration"]) > 0
    assert not hasattr(lda, "prior_trace_")


def test_more_concentration_gives_more_topics(corpus):
    counts = [
        make(max_components=100, topic_concentration=a, max_iter=100, n_chains=1).fit(corpus.data).topic_count_mean_
        for a in (0.01, 1.0, 30.0)
    ]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize(
    "options, error, match",
    [
        ({"topic_word_prior": np.full((60, 40), 0.1)}, ValueError, "topics that can be exchanged"),
        ({"topic_concentration": (1.0,)}, ValueError, "topic_concentration = .*a pair"),
        ({"topic_concentration": 1e7}, ValueError, "must lie between 1e-06 and 1e"),
        ({"doc_concentration": (1.0, -1.0)}, ValueError, "doc_concentration = .*a pair"),
        ({"doc_concentration": 1e-7}, ValueError, "must lie between 1e-06"),
        ({"collection_concentration": 1.0}, ValueError, "there is one collection"),
    ],
)
def test_what_is_refused(corpus, options, error, match):
    lda = make(**options)
    with pytest.raises(error, match=match):
        lda.fit(corpus.data)
    assert not hasattr(lda, "components_")


def test_other_models_do_not_count_topics(corpus):
    lda = CompoundLDA(2, max_iter=2).fit(corpus.data)
    assert not hasattr(lda, "topic_count_draws_")


def test_a_truncation_that_binds():
    X = make_lda_corpus(60, 50, 8, doc_length=40, topic_word_prior=0.05, random_state=0).data
    with pytest.warns(UserWarning, match=r"6 of the max_components=6"):
        make(max_components=6).fit(X)


def test_a_number_that_has_not_settled(corpus):
    with pytest.warns(ConvergenceWarning, match="not settled: .*too high"):
        make(burn_in=0, n_chains=1).fit(corpus.data)


@pytest.mark.filterwarnings("ignore:The chains disagree")
def test_a_number_on_which_chains_disagree(corpus):
    with pytest.warns(ConvergenceWarning, match="not settled: .*chains are from") as caught:
        lda = make(burn_in=0, n_chains=2).fit(corpus.data)
    means = lda.traces_["topic_count"].mean(axis=1)
    texts = [str(each.message) for each in caught]
    assert any(f"from {means.min():.1f} to {means.max():.1f}." in text for text in texts)


def bursts(concentration):
    """One topic; each document has its own probabilities around it, with this concentration."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(60, 0.2))
    own = rng.dirichlet(concentration * words, size=60)
    return np.array([rng.multinomial(50, each) for each in own])


@pytest.mark.filterwarnings("ignore:(The chains disagree|The number of topics in use|The fit has too few sweeps)")
def test_repeated_words_bring_eta_to_its_smallest_value():
    options = {"topic_word_prior": None, "max_iter": 100}
    with pytest.warns(UserWarning, match=r"smallest value, 0\.05"):
        repeated = make(**options).fit(bursts(1.0))
    assert repeated.topic_word_prior_ == pytest.approx(0.05)
    plain = make(**options).fit(bursts(1e4))
    assert plain.topic_word_prior_ > 0.1
    # Each document is a topic or several, although all documents have the same words on average.
    assert repeated.large_topic_count_interval_[0] > 5 * plain.large_topic_count_interval_[1]


def test_a_smaller_eta_can_be_given():
    assert make(topic_word_prior=0.01, max_iter=4).fit(bursts(1.0)).topic_word_prior_ == 0.01


@pytest.mark.parametrize("K", [1, 17])
def test_odd_corpora(K):
    X = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 0], [0, 0, 0], [1, 1, 1]])
    for counts, labels in (
        (X, ["a", "", "empty", "empty", "a"]),
        (X, None),
        ([[1]], None),
        ([[0, 1], [0, 0]], [1, 2]),
        ([[70_000, 3], [0, 1]], None),
    ):
        for burn_in in (0, 2):
            lda = make(max_components=K, max_iter=4, burn_in=burn_in, draw_every=1, topic_word_prior=None)
            lda.fit(counts, collections=labels)
            assert np.isfinite(lda.transform(counts, collections=labels)).all()
            assert 1 <= lda.topic_count_interval_[0] <= lda.topic_count_interval_[1] <= K
            assert len(lda.components_) <= K


@pytest.mark.parametrize(
    "a, gamma", [(1e-6, 1e-6), (1e-6, 1e12), (1e6, 1e-6), (1e6, 1e12), ((1e-3, 1e-3), (1e-3, 1e-3))]
)
def test_extreme_concentrations_give_numbers(corpus, a, gamma):
    # In eight sweeps topics are merged, too.
    max_iter = 8 if a == 1e6 or gamma == 1e12 else 4
    for labels, b in ((None, None), (corpus.collections, a)):
        lda = make(topic_concentration=a, doc_concentration=gamma, collection_concentration=b, max_iter=max_iter)
        lda.fit(corpus.data, collections=labels)
        assert np.isfinite(lda.log_joint_trace_).all()
        assert np.isfinite(lda.transform(corpus.data)).all()
        assert all(np.isfinite(draws).all() for draws in lda.concentration_draws_.values())


@pytest.mark.parametrize("shared", [False, True])
def test_topics_that_collections_share(shared):
    """Two draws of mixtures share a topic with probability 1 / K if they are independent, 1 / (1 + a) by the HDP.

    This is E(sum of pi_1k pi_2k), which falls to zero with K in the first case: so several collections need pi_0. The
    false-alarm rate is 1e-5.
    """
    rng, K, a, b, n = np.random.default_rng(0), 400, 3.0, 5.0, 3000
    same = 0
    for _ in range(n):
        base = rng.dirichlet(np.full(K, a / K))
        pi = [rng.dirichlet(np.maximum(b * base, 1e-12)) if shared else rng.dirichlet(np.full(K, a / K)) for _ in "12"]
        first, second = (rng.choice(K, p=each) for each in pi)
        same += first == second
    expected = (1 + a / K) / (1 + a) if shared else 1 / K
    assert binomtest(same, n, expected).pvalue > 1e-5


def test_a_sampler_is_advised_only_where_there_is_a_choice(monkeypatch, capsys):
    monkeypatch.setattr("sklda._models.chain_lda.TOKENS_PER_WORKER", 1)
    X = np.random.default_rng(0).poisson(0.5, (20, 15))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, advised in ((GibbsLDA(2), True), (HDPLDA(max_components=9), False)):
            model.set_params(n_chains=1, n_jobs=2, max_iter=10, verbose=2, random_state=0).fit(X)
            assert ("partitioned" in capsys.readouterr().out) == advised
