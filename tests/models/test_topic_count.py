"""TopicCountLDA: what a fit offers, and what is refused. The chain is tested in `compound/test_finite_mixtures.py`."""

import pickle
import warnings

import numpy as np
import pytest
from enumeration import EXACT, make_corpus
from scipy.special import softmax
from scipy.stats import geom, poisson, randint
from sklearn.exceptions import ConvergenceWarning

from sklda import TopicCountLDA
from sklda._models.topic_count.finite_mixtures import FiniteMixtures
from sklda.datasets import make_lda_corpus

FLAT = "three words, 1, 1"
QUICK = {"max_iter": 40, "random_state": 0}
ignore = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def rough_modes(monkeypatch):
    """The evidence of modes, which is most of the time of a short fit, by a few temperatures."""
    monkeypatch.setattr("sklda._models.topic_count.count_modes._TEMPERATURES", 10)


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(120, 40, 4, doc_length=60, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data


@pytest.fixture(scope="module")
def few(X):
    """A third of the documents, for what does not depend on their number."""
    return X[:40]


@pytest.fixture(scope="module")
def fitted(X):
    return TopicCountLDA(max_components=30, max_iter=300, random_state=0).fit(X)


def tiny(case=FLAT):
    docs, n_features, alpha, eta, log_p = EXACT[case]
    options = {"doc_topic_prior": alpha, "topic_word_prior": eta, "share_concentration": "equal", "random_state": 0}
    return make_corpus(docs, n_features).to_counts(), options, np.array(log_p)


def test_the_truth_is_the_mode(X, fitted):
    assert fitted.n_components_ == 4
    assert fitted.topic_counts_.tolist() == list(range(1, 31))
    assert fitted.topic_count_posterior_.sum() == pytest.approx(1)
    low, high = fitted.topic_count_interval_
    assert low <= 4 <= high
    assert fitted.components_.shape == (4, 40)
    assert fitted.transform(X).shape == (120, 4)
    assert fitted.get_feature_names_out().tolist() == [f"topiccountlda{k}" for k in range(4)]
    assert 1 < fitted.perplexity(X) < 40


def test_what_a_fit_offers(X, fitted):
    assert fitted.topic_count_draws_.shape == (300,)
    np.testing.assert_array_equal(fitted.topic_count_draws_, fitted.traces_["topic_count"][:, 150:].ravel())
    assert (fitted.traces_["topic_count"] >= fitted.traces_["used_topic_count"]).all()
    assert (fitted.traces_["few_tokens_count"] >= 0).all()
    assert fitted.corpus_topic_.shape == fitted.corpus_topic_std_.shape == (4,)
    assert fitted.corpus_topic_.sum() == pytest.approx(1)
    assert (np.diff(fitted.topic_share_) <= 0.02).all() and fitted.topic_share_std_.shape == (4,)
    # The corpus was made with 0.1 and 0.1: of 120 x 4 and 4 x 40 proportions a factor of 2 is over five errors away.
    assert 0.05 < fitted.doc_topic_prior_.mean() < 0.2
    assert fitted.topic_word_prior_.shape == (40,)
    assert 0.05 < fitted.topic_word_prior_.mean() < 0.2
    assert fitted.share_concentration_ >= 1
    assert (fitted.topic_prevalence_ == 1).all()
    assert len(fitted.chains_) == 2
    assert fitted.n_iter_ == 300 and fitted.n_burn_in_ == 150


@ignore
@pytest.mark.parametrize("prior", [[1, 0, 1, 2], poisson(2)], ids=["with a gap", "poisson"])
def test_a_prior_over_the_number_of_topics(prior):
    """The posterior of 8 chains is within 0.07 of the exact one; errors of 300 fits of 12 had a deviation of 0.012."""
    X, options, log_p = tiny()
    lda = TopicCountLDA(max_components=4, topic_count_prior=prior, n_chains=8, max_iter=300, **options).fit(X)
    p = prior.pmf(np.arange(1, 5)) if hasattr(prior, "pmf") else np.array(prior)
    assert lda.topic_counts_.tolist() == (np.arange(1, 5)[p > 0]).tolist()
    expected = softmax(log_p[p > 0] + np.log(p[p > 0]))
    np.testing.assert_allclose(lda.topic_count_posterior_, expected, atol=0.07)


def test_sample_posterior(X, fitted):
    draws = fitted.sample_posterior(5, random_state=0)
    assert draws.n_components.shape == (5,)
    for T, z, theta, phi in zip(
        draws.n_components, draws.topic_assignments, draws.doc_topic, draws.topic_word, strict=True
    ):
        assert z.shape == (X.sum(),)
        assert 0 <= z.min() <= z.max() < T
        assert theta.shape == (120, T)
        assert phi.shape == (T, 40)
        np.testing.assert_allclose(theta.sum(axis=1), 1)
        np.testing.assert_allclose(phi.sum(axis=1), 1)
    again = fitted.sample_posterior(5, random_state=0)
    assert (again.topic_assignments[3] == draws.topic_assignments[3]).all()


@pytest.mark.usefixtures("rough_modes")
@ignore
def test_sample_posterior_has_the_posterior_of_the_numbers():
    """10 chains of tiny corpora have draws at all four numbers; a frequency of 2,000 has a deviation of 0.011."""
    counts, options, _ = tiny("mixed, 1, 1")
    lda = TopicCountLDA(max_components=4, n_chains=10, max_iter=60, n_draws=3, **options).fit(counts)
    lda.topic_count_posterior_ = np.array([0.6, 0.2, 0.15, 0.05])
    found = np.bincount(lda.sample_posterior(2000, random_state=0).n_components, minlength=5)[1:] / 2000
    np.testing.assert_allclose(found, lda.topic_count_posterior_, atol=0.055)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"min_components": 5, "max_components": 3}, "min_components=5 is larger than max_components=3"),
        ({"topic_count_prior": [0, 0, 0]}, "topic_count_prior is zero everywhere from 2 to 4"),
        ({"topic_count_prior": [1, 1]}, r"topic_count_prior has shape \(2,\)"),
        ({"topic_count_prior": [1, np.nan, 1]}, "topic_count_prior is nan at 3 topics"),
        ({"topic_count_prior": [1, 1, -2]}, "topic_count_prior is -2 at 4 topics"),
        ({"topic_count_prior": [1, 1, 1], "max_components": None}, "needs max_components"),
        ({"topic_word_prior": "K/2"}, "topic_word_prior = 'K/2': a text must be a number over K or T"),
        ({"topic_word_prior": np.ones((2, 40))}, "topic_word_prior must be a number, or one for each word"),
        ({"doc_topic_prior": 1e12}, "doc_topic_prior times the number of topics goes from"),
        ({"share_concentration": "even"}, "share_concentration"),
    ],
)
def test_bad_parameters(X, parameters, message):
    lda = TopicCountLDA(**{"min_components": 2, "max_components": 4, **QUICK, **parameters})
    with pytest.raises(ValueError, match=message):
        lda.fit(X)
    assert not [name for name in vars(lda) if name.endswith("_")]


def test_a_prior_of_the_count_without_an_order(X):
    for prior in ({2: 0.5, 3: 0.5}, {0.5}):
        with pytest.raises(TypeError, match=r"topic_count_prior .*each number of topics"):
            TopicCountLDA(min_components=2, max_components=3, topic_count_prior=prior, **QUICK).fit(X)


@ignore
@pytest.mark.parametrize(
    "X, low, high",
    [
        (np.array([[1, 1, 0], [0, 1, 1]]), 1, 8),
        (np.array([[3, 2, 4]]), 1, 3),
        (np.array([[0, 0, 0], [3, 2, 4], [0, 0, 0], [1, 0, 5]]), 1, 3),
        (np.array([[3, 2, 4], [1, 1, 5]]), 1, 1),
        (np.array([[1]]), 3, 5),
    ],
    ids=["fewer tokens than topics", "one document", "empty documents", "one topic", "one token"],
)
def test_small_corpora(X, low, high):
    for n_sweeps in (1, 2, 40):
        lda = TopicCountLDA(min_components=low, max_components=high, max_iter=n_sweeps, random_state=0).fit(X)
        assert lda.topic_counts_.tolist() == list(range(low, high + 1))
        assert lda.topic_count_posterior_.sum() == pytest.approx(1)
        assert lda.transform(X).shape == (len(X), lda.n_components_)
        assert np.isfinite(lda.sample_posterior(2, random_state=0).doc_topic[0]).all()


@pytest.mark.usefixtures("rough_modes")
@ignore
def test_priors_that_are_given_stay(few):
    eta = np.where(np.arange(40) < 20, 0.08, 0.12)
    lda = TopicCountLDA(max_components=9, topic_word_prior=eta, share_concentration=2.0, **QUICK).fit(few)
    np.testing.assert_array_equal(lda.topic_word_prior_, eta)
    assert lda.share_concentration_ == pytest.approx(2)
    lda = TopicCountLDA(max_components=9, doc_topic_prior=0.2, topic_word_prior=0.1, **QUICK).fit(few)
    assert lda.topic_word_prior_ == 0.1
    assert lda.doc_topic_prior_.mean() == pytest.approx(0.2)
    equal = TopicCountLDA(max_components=9, doc_topic_prior=0.2, share_concentration="equal", **QUICK).fit(few)
    np.testing.assert_allclose(equal.doc_topic_prior_, 0.2, rtol=0.01)


@pytest.mark.usefixtures("rough_modes")
@ignore
def test_ends_of_the_range_are_said(X):
    given = {"max_iter": 100, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="3 topics: .*max_components"):
        TopicCountLDA(min_components=2, max_components=3, **given).fit(X)
    with pytest.warns(ConvergenceWarning, match="5 topics: .*min_components"):
        TopicCountLDA(min_components=5, max_components=7, **given).fit(X)


def test_where_the_prior_ends_nothing_can_be_raised():
    counts, options, _ = tiny()
    lda = TopicCountLDA(max_components=3, topic_count_prior=randint(1, 4), max_iter=100, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="p.T . w. is")
        lda.fit(counts)
    assert lda.topic_count_posterior_[-1] > 0.1


@pytest.mark.usefixtures("rough_modes")
@ignore
def test_bursts_are_said(X, fitted):
    """A document has its words two times: more dependence of words on documents than the model has."""
    assert fitted.model_check_z_ < 4
    lda = TopicCountLDA(max_components=30, max_iter=100, random_state=0)
    with pytest.warns(UserWarning, match="depend on the documents .*topic_check"):
        lda.fit(2 * X)
    assert lda.model_check_z_ > 4
    assert "it may be too large" in lda.summary()


def unequal(seed):
    """A corpus of 4 to 9 topics, the largest of which has half of the tokens; and their number."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(4, 10))
    alpha = np.where(np.arange(T) == 0, T - 1, 1) * 0.15
    theta = rng.dirichlet(alpha, 150)
    phi = rng.dirichlet(np.full(300, 0.05), T)
    return np.array([rng.multinomial(50, p / p.sum()) for p in theta @ phi]), T


@ignore
@pytest.mark.exhaustive
def test_intervals_contain_the_number_of_topics():
    """If one in twenty misses, three misses of six have a probability of 2e-3, and four of 9e-5."""
    inside = 0
    for seed in range(6):
        counts, T = unequal(seed)
        low, high = TopicCountLDA(random_state=0).fit(counts).topic_count_interval_
        inside += low <= T <= high
    assert inside >= 3


@pytest.mark.parametrize(
    ("prior", "most", "options"),
    [(randint(1, 6), 5, {}), ([1, 1, 1, 0], 3, {"max_components": 4}), (geom(0.99), None, {})],
)
def test_a_prior_that_is_zero_at_the_end_of_the_range(prior, most, options):
    X = make_lda_corpus(40, 20, 2, doc_length=20, random_state=0).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lda = TopicCountLDA(topic_count_prior=prior, max_iter=30, random_state=0, **options).fit(X)
    assert most is None or lda.topic_counts_.max() == most
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)


def test_a_distribution_and_a_function_are_the_same_in_a_warm_start():
    X = make_lda_corpus(40, 20, 2, doc_length=20, random_state=0).data
    alphas = {1: 0.2, 2: 0.1, 3: 0.1}
    lda = TopicCountLDA(
        max_components=3,
        topic_count_prior=poisson(3),
        doc_topic_prior=alphas.__getitem__,
        warm_start=True,
        max_iter=20,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = pickle.loads(pickle.dumps(lda.fit(X)))
        assert copy.fit(X).n_iter_ == lda.fit(X).n_iter_ == 40
    with pytest.raises(ValueError, match="topic_count_prior"):
        lda.set_params(topic_count_prior=poisson(4)).fit(X)


def test_words_of_unequal_frequencies_are_no_topics():
    """With one eta for all words, these documents of one topic get five topics or more."""
    frequencies = 1 / np.arange(1, 301)
    X = np.random.default_rng(0).multinomial(60, frequencies / frequencies.sum(), size=150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lda = TopicCountLDA(max_components=30, max_iter=400, random_state=0).fit(X)
    assert lda.topic_count_interval_[0] == 1


@ignore
def test_draws_of_the_posterior_are_those_of_the_fit():
    X = np.random.default_rng(0).poisson(0.5, (20, 15))
    lda = TopicCountLDA(max_components=4, topic_word_prior=0.01, max_iter=40, random_state=0).fit(X)
    before = lda.sample_posterior(2, random_state=0)
    after = lda.set_params(topic_word_prior=None).sample_posterior(2, random_state=0)
    for one, other in zip(before.topic_word, after.topic_word, strict=True):
        np.testing.assert_array_equal(one, other)


# So short chains may disagree.
@pytest.mark.filterwarnings("ignore:The chains disagree")
def test_eta_is_that_of_the_priors_after_every_sweep(monkeypatch):
    own, differ = FiniteMixtures.after, []

    def watched(step, chain, stop):
        own(step, chain, stop)
        differ.append((step.eta.of_words() != chain.priors.word).any())

    monkeypatch.setattr(FiniteMixtures, "after", watched)
    # The way to one topic ends after sweep 55, and eta is drawn after every fourth one.
    for seed in range(4):
        X = make_lda_corpus(60, 40, 4, doc_length=20, random_state=seed).data
        TopicCountLDA(max_components=12, max_iter=184, random_state=seed).fit(X)
    assert len(differ) == 4 * 2 * 184 and not any(differ)
