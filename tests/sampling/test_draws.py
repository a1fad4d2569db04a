"""Means and standard deviations over draws of z against enumeration, and draws of theta and phi."""

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, K, V, make_corpus
from scipy.stats import binomtest

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    merge_topics,
)
from sklda._core.priors import Priors
from sklda._core.progress import Progress
from sklda._models.consensus.fits import share_std
from sklda._sampling.chain import KeptDraws
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.draws import TopicGroups, doc_topic_std, posterior_means, variance_around_mean, variance_of_draws
from sklda._sampling.run_chains import Run, Schedule, burn_in_of
from sklda._sampling.steps import Draw
from sklda.datasets import make_lda_corpus

# A normal number is more standard deviations than this from its mean with a probability of 6e-7.
MOST_SD = 5.0
ALARM = 1e-5


def exact_moments(truth):
    """E(theta), sd(theta) of every document, by the sum over all z."""
    alpha, p = truth.alpha, truth.posterior[:, None, None]
    totals = (alpha + truth.n_dk).sum(axis=2, keepdims=True)
    means = (alpha + truth.n_dk) / totals
    mean = (p * means).sum(axis=0)
    variance = (p * (means**2 + means * (1 - means) / (totals + 1))).sum(axis=0) - mean**2
    return mean, np.sqrt(variance)


def independent_draws(truth, n, seed=0):
    rng = np.random.default_rng(seed)
    return truth.states[rng.choice(len(truth.states), size=n, p=truth.posterior)].astype(np.uint8)


def kept_draws(priors, topics):
    return KeptDraws(priors, [Draw(i, z, {}) for i, z in enumerate(topics)])


@pytest.fixture
def any_names(monkeypatch):
    """Draws of tiny corpora are averaged although topics switch names: that is what the enumeration does, too."""
    monkeypatch.setattr("sklda._sampling.draws.same_names", lambda *arguments: True)


@pytest.mark.parametrize("alpha, eta", [(0.4, 0.3), (np.array([0.2, 0.9]), np.array([[0.1, 5, 9, 2], [7, 2, 3, 1.1]]))])
def test_moments_are_those_of_the_posterior(alpha, eta, any_names):
    truth = Enumeration(DOCS, V, K, alpha, eta)
    n = 2_000
    found = posterior_means(truth.corpus, kept_draws(truth.priors, independent_draws(truth, n)), "cgs", lambda: None)
    mean, std = exact_moments(truth)
    assert found.topic_shares.shape == (n, K)
    # The standard error of a mean is at most std / sqrt(n). That of a variance of numbers in [0, 1] is at most
    # sqrt(E(theta - mean)^2 / n), so that of the standard deviation is at most 1 / (2 sqrt(n)).
    assert np.abs(found.doc_topic - mean).max() < MOST_SD * std.max() / np.sqrt(n)
    found_std = doc_topic_std(truth.corpus, kept_draws(truth.priors, independent_draws(truth, n)))
    assert np.abs(found_std - std).max() < MOST_SD / (2 * np.sqrt(n))
    # The mutation: the variance within draws alone, or that between draws alone, is far too small.
    draws = truth.n_dk + truth.alpha
    means = draws / draws.sum(axis=2, keepdims=True)
    between = np.sqrt((truth.posterior[:, None, None] * (means - mean) ** 2).sum(axis=0))
    assert np.abs(between - std).max() > MOST_SD / (2 * np.sqrt(n))
    assert np.abs(np.sqrt(std**2 - between**2) - std).max() > MOST_SD / (2 * np.sqrt(n))


def test_cgs_p_has_the_same_mean(any_names):
    """The mean over z of the full conditionals of all tokens is the mean of their topics."""
    truth = Enumeration(DOCS, V, K, np.array([0.2, 0.9]), 0.3)
    n = 2_000
    found = posterior_means(truth.corpus, kept_draws(truth.priors, independent_draws(truth, n)), "cgs_p", lambda: None)
    mean, std = exact_moments(truth)
    assert np.abs(found.doc_topic - mean).max() < MOST_SD * std.max() / np.sqrt(n)
    counts = (truth.posterior[:, None, None] * truth.m_kv).sum(axis=0)
    # A count of words is at most 3, so its standard deviation is at most 1.5.
    assert np.abs(found.components - truth.eta - counts).max() < MOST_SD * 1.5 / np.sqrt(n)


@pytest.mark.parametrize("method", ["cgs", "cgs_p"])
def test_one_draw_has_the_moments_of_dirichlet_distributions(method):
    truth = Enumeration(DOCS, V, K, np.array([0.2, 0.9]), 0.3)
    z = [0, 0, 1, 1, 0, 1, 1]
    found = posterior_means(truth.corpus, kept_draws(truth.priors, [np.array(z)]), method, lambda: None)
    a = truth.n_dk[truth.index(z)] + truth.alpha
    total = a.sum(axis=1, keepdims=True)
    found_std = doc_topic_std(truth.corpus, kept_draws(truth.priors, [np.array(z)]))
    np.testing.assert_allclose(found_std, np.sqrt(a * (total - a) / (total**2 * (total + 1))), rtol=1e-5)
    X = np.array([np.bincount(doc, minlength=V) for doc in DOCS])
    priors = {"doc_topic_prior": [0.2, 0.9], "topic_word_prior": 0.3, "point_estimate": method}
    expected = GibbsLDA.from_assignments(X, z, **priors)
    np.testing.assert_allclose(found.doc_topic, expected.doc_topic_, rtol=1e-6)
    np.testing.assert_allclose(found.components, expected.components_, rtol=1e-6)


def test_identical_draws_do_not_differ_from_one():
    truth = Enumeration(DOCS, V, K, 0.4, 0.3)
    z = np.array([0, 0, 1, 1, 0, 1, 1])
    kept = [kept_draws(truth.priors, [z] * n) for n in (1, 9)]
    one, many = (posterior_means(truth.corpus, draws, "cgs_p", lambda: None) for draws in kept)
    np.testing.assert_allclose(*(doc_topic_std(truth.corpus, draws) for draws in kept), rtol=1e-5)
    np.testing.assert_allclose(one.components, many.components, rtol=1e-6)
    assert many.topic_shares.tolist() == [[3 / 7, 4 / 7]] * 9


def test_topics_without_tokens_and_documents_without_words():
    corpus = make_corpus([[], [0, 0], []], 2)
    priors = Priors.make([0.5, 1e-5, 2.0], 0.1, 3, 2)
    found = posterior_means(corpus, kept_draws(priors, [np.array([0, 0])] * 3), "cgs_p", lambda: None)
    alpha, total = np.array([0.5, 1e-5, 2.0]), 2.50001
    np.testing.assert_allclose(found.doc_topic[0], alpha / total, rtol=1e-6)
    np.testing.assert_allclose(
        doc_topic_std(corpus, kept_draws(priors, [np.array([0, 0])] * 3))[2],
        np.sqrt(alpha * (total - alpha) / (total**2 * (total + 1))),
        rtol=1e-3,
        atol=1e-6,
    )


def test_averaging_stops_where_topics_switch_names():
    b = make_lda_corpus(60, 40, 4, random_state=0)
    lda = GibbsLDA(4, max_iter=60, n_draws=8, draw_every=2, random_state=0).fit(b.data)
    (kept,) = lda._results_.draws
    assert lda.n_draws_ == len(kept) == 8
    draws = list(kept.topics)
    draws[:5] = [np.array([1, 0, 2, 3], np.uint8)[z] for z in draws[:5]]
    found = posterior_means(lda._results_.corpus, kept_draws(kept.priors, draws), "cgs_p", lambda: None)
    last = posterior_means(lda._results_.corpus, kept_draws(kept.priors, draws[5:]), "cgs_p", lambda: None)
    assert len(found.topic_shares) == 3
    for name, value in vars(last).items():
        np.testing.assert_array_equal(getattr(found, name), value)


def test_stop_is_called_for_every_draw():
    truth, calls = Enumeration(DOCS, V, K, 0.4, 0.3), []
    draws = [np.array([0, 0, 1, 1, 0, 1, 1])] * 5
    posterior_means(truth.corpus, kept_draws(truth.priors, draws), "cgs_p", lambda: calls.append(1))
    assert len(calls) >= 2 * len(draws)


class EndAt(Progress):
    """Ends chains after a sweep."""

    def __init__(self, n_sweeps):
        self.n_sweeps = n_sweeps

    def after(self, index, chain):
        return chain.n_sweeps == self.n_sweeps


def test_no_draws_of_the_burn_in_are_kept():
    truth = Enumeration(DOCS, V, K, 0.4, 0.3)
    chains = [GibbsChain.initialise_randomly(truth.corpus, truth.priors, np.random.SeedSequence(0))]
    schedule = Schedule(n_draws=5, draw_every=10)
    for n_sweeps, end, n_burn_in, n_draws in ((40, 13, 20, 1), (40, 35, 26, 2), (11, None, 23, 3)):
        chains[0].n_burn_in = burn_in_of(None, chains[0].n_sweeps + n_sweeps)
        (chain,) = chains = Run(EndAt(end)).sweep(chains, n_sweeps, schedule=schedule)
        assert chain.n_burn_in == n_burn_in
        # First the present z, as there is nothing else; then after sweeps 30 and 35; then after sweeps 30, 40 and 46.
        assert len(chain.draws) == n_draws
        np.testing.assert_array_equal(chain.draws[-1].topics, chain.topics)


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(40, 30, 3, random_state=0).data


@pytest.fixture(scope="module")
def gibbs(corpus):
    lda = GibbsLDA(
        3, doc_topic_prior=1.0, max_iter=80, burn_in=40, n_draws=10, draw_every=4, point_estimate="cgs", random_state=0
    )
    return lda.fit(corpus)


def test_moments_of_samples(gibbs):
    n = 3000
    draws = gibbs.sample_posterior(n, random_state=0)
    assert draws.doc_topic.shape == (n, 40, 3)
    assert draws.topic_word.shape == (n, 3, 30)
    assert draws.doc_topic.dtype == draws.topic_word.dtype == np.float32
    for each in draws.values():
        np.testing.assert_allclose(each.sum(axis=2), 1, atol=1e-5)
    z = (draws.doc_topic.mean(axis=0) - gibbs.doc_topic_) / gibbs.doc_topic_std_ * np.sqrt(n)
    # 80 free values: a normal one is beyond 5.5 with a probability of 4e-8.
    assert np.abs(z).max() < 5.5
    # With alpha = 1, theta has a kurtosis of at most about that of an exponential distribution, 9; then the standard
    # error of a standard deviation is sd * sqrt((9 - 1) / (4 n)), 2.6 %.
    np.testing.assert_allclose(draws.doc_topic.std(axis=0), gibbs.doc_topic_std_, rtol=0.15)
    np.testing.assert_allclose(draws.topic_word.mean(axis=0), gibbs.topic_word_, atol=0.01)


@pytest.mark.parametrize("n_draws", [1, 3, 10, 25])
def test_samples_use_draws_at_equal_distances(gibbs, n_draws):
    """Any number of samples comes from all draws alike."""
    chains = gibbs._results_.states[0].draws
    draws = gibbs.sample_posterior(n_draws, random_state=0)
    assert draws.doc_topic.shape[0] == n_draws
    assert len(chains) == gibbs.n_draws_ == 10
    again = gibbs.sample_posterior(n_draws, random_state=0)
    other = gibbs.sample_posterior(n_draws, random_state=1)
    for name in ("doc_topic", "topic_word"):
        np.testing.assert_array_equal(draws[name], again[name])
        assert (draws[name] != other[name]).any()
        assert len(np.unique(draws[name], axis=0)) == n_draws


OTHERS = {
    "augmented": CompoundLDA(3, max_iter=10, random_state=0),
    "cvb0": CollapsedVariationalLDA(3, max_iter=10, random_state=0),
    "scvb0": CollapsedVariationalLDA(3, learning_method="online", max_iter=3, random_state=0),
    "empirical_bayes": EmpiricalBayesLDA(3, max_iter=20, n_chains=2, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_samples_of_other_estimators(corpus, name):
    lda = OTHERS[name].fit(corpus)
    before = {key: value for key, value in vars(lda).items() if isinstance(value, np.ndarray)}
    before = {key: value.copy() for key, value in before.items()}
    draws, again = (lda.sample_posterior(4, random_state=7) for _ in range(2))
    for key, shape in (("doc_topic", (4, 40, 3)), ("topic_word", (4, 3, 30))):
        assert draws[key].shape == shape
        assert draws[key].dtype == np.float32
        assert (draws[key] >= 0).all()
        np.testing.assert_allclose(draws[key].sum(axis=2), 1, atol=1e-5)
        np.testing.assert_array_equal(draws[key], again[key])
        assert len(np.unique(draws[key], axis=0)) == 4
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(lda, key), value)


def test_samples_of_variational_topics_have_their_moments(corpus):
    lda = CollapsedVariationalLDA(3, random_state=0).fit(corpus)
    draws = lda.sample_posterior(2000, random_state=0)
    np.testing.assert_allclose(draws.doc_topic.mean(axis=0), lda.doc_topic_, atol=5.5 * 0.5 / np.sqrt(2000))
    np.testing.assert_allclose(draws.topic_word.mean(axis=0), lda.topic_word_, atol=5.5 * 0.5 / np.sqrt(2000))


@pytest.mark.parametrize("n_draws, error", [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("x", TypeError)])
def test_bad_numbers_of_samples(gibbs, n_draws, error):
    with pytest.raises(error, match="n_draws"):
        gibbs.sample_posterior(n_draws)


@pytest.mark.parametrize("name", ["augmented", "cvb0"])
def test_more_samples_than_memory(corpus, gibbs, name):
    for lda in (gibbs, OTHERS[name].fit(corpus)):
        with pytest.raises(MemoryError, match=r"(allocate|draws need at least)"):
            lda.sample_posterior(10**12)


def test_no_samples_before_the_fit():
    for kind in (GibbsLDA, CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, LabeledLDA, TopicCountLDA):
        with pytest.raises(Exception, match="fit"):
            kind().sample_posterior()


def coverage(theta, mean, std):
    """Share of the true proportions in intervals of 95 %."""
    low, high = (np.clip(mean + sign * 1.96 * std, 0, 1) for sign in (-1, 1))
    return ((low <= theta) & (theta <= high)).mean()


def test_intervals_contain_the_true_proportions():
    """From the true topics, because no interval is right if a chain is in a mode without a topic.

    On 25 corpora of this kind the coverage had a mean of 0.946 and a standard deviation of 0.0048, that of quantiles of
    samples 0.936 and 0.0051. The bounds are five standard deviations from the means.
    """
    b = make_lda_corpus(300, 200, 8, doc_length=100, doc_topic_prior=0.3, topic_word_prior=0.05, random_state=0)
    lda = GibbsLDA(8, init=b.topic_assignments, max_iter=300, random_state=0).fit(b.data)
    assert 0.922 < coverage(b.doc_topic, lda.doc_topic_, lda.doc_topic_std_) < 0.97
    assert coverage(b.doc_topic, lda.doc_topic_, 0.7 * lda.doc_topic_std_) < 0.922
    assert coverage(b.doc_topic, lda.doc_topic_, 1.6 * lda.doc_topic_std_) > 0.97
    draws = lda.sample_posterior(300, random_state=0).doc_topic
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert 0.91 < ((low <= b.doc_topic) & (b.doc_topic <= high)).mean() < 0.962


def test_no_standard_deviation_is_larger_than_that_of_two_ends():
    """With few draws the unbiased variance of a share may be larger than any of a number in [0, 1]."""
    corpus, priors = make_corpus([[0] * 1000], 1), Priors.make(1e-3, 1.0, 2, 1)
    draws = kept_draws(priors, [np.full(1000, k) for k in (0, 1)])
    np.testing.assert_array_equal(doc_topic_std(corpus, draws), 0.5)


@pytest.mark.mutation
@pytest.mark.parametrize("rho", [0, 0.3, 0.6])
def test_few_dependent_draws_cover_a_further_draw(rho):
    """Two standard deviations cover at least 95 %: false-alarm rate 1e-5. Without the correction they cover less."""
    rng, n, n_draws = np.random.default_rng(0), 500, 15
    path = rng.standard_normal((100 + n_draws, n, 6))
    for i in range(1, len(path)):
        path[i] = rho * path[i - 1] + np.sqrt(1 - rho**2) * path[i]
    draws = np.moveaxis(path[-n_draws:], 0, 1)

    def p_value(variances):
        gaps = np.abs(draws.mean(axis=1) - path[0]) / np.sqrt(variances)
        return binomtest(int((gaps <= 1.96).sum()), gaps.size, 0.95, "less").pvalue

    assert p_value([variance_around_mean([each]) for each in draws]) > ALARM
    assert p_value([variance_of_draws(each) for each in draws]) < ALARM


def test_chains_add_the_variance_of_their_means():
    chains = [np.random.default_rng(c).standard_normal((15, 4)) + 10 * c for c in range(3)]
    means = np.array([each.mean(axis=0) for each in chains])
    within = variance_around_mean(chains) - means.var(axis=0, ddof=1)
    pooled = np.mean([variance_of_draws(each) for each in chains], axis=0)
    assert ((within > pooled) & (within < 1.5 * pooled)).all()
    # One draw of one chain has no spread, which is not a spread of zero.
    assert np.isnan(variance_around_mean([chains[0][:1]])).all()


def test_quantities_that_never_change_are_no_independent_draws():
    rng, x = np.random.default_rng(0), np.zeros(15)
    for i in range(1, 15):
        x[i] = 0.95 * x[i - 1] + 0.01 * rng.normal()
    alone = np.stack([0.5 + x, 0.5 - x], axis=1)
    rest = np.zeros((15, 30)), np.full((15, 30), 0.1) + rng.integers(-2, 3, (15, 30)) * 2.0**-56
    expected = variance_around_mean([alone])
    for each in rest:
        found = variance_around_mean([np.hstack([alone, each])])
        np.testing.assert_allclose(found[:2], expected)
        assert (found[2:] < 1e-30).all()


@pytest.mark.mutation
def test_quantiles_of_many_samples_cover_frequent_words():
    """Given the true topics of the tokens, at a false-alarm rate of 1e-5. Quantiles of 15 samples cover too little."""
    inside = []
    for seed in range(8):
        corpus = make_lda_corpus(60, 100, 4, doc_topic_prior=0.3, random_state=seed)
        given = {"doc_topic_prior": 0.3, "topic_word_prior": 0.1, "n_components": 4}
        lda, true = GibbsLDA.from_assignments(corpus.data, corpus.topic_assignments, **given), corpus.topic_word
        draws = lda.sample_posterior(500, random_state=seed).topic_word
        ends = np.array([np.quantile(each, [0.025, 0.975], axis=0) for each in (draws, draws[:15])])
        inside.append(((ends[:, 0] <= true) & (true <= ends[:, 1]))[:, true > 0.02])
    many, few = (binomtest(int(each.sum()), each.size, 0.95).pvalue for each in np.concatenate(inside, axis=1))
    assert many > ALARM
    assert few < ALARM


FEW_DRAWS = {"max_iter": 16, "burn_in": 2, "n_draws": 6, "n_chains": 3}
TWO = np.array([[1, 0]])
ONE_TOKEN = {
    "GibbsLDA": lambda seed: GibbsLDA(2, **FEW_DRAWS, draw_every=1, random_state=seed).fit(TWO),
    "CovariateLDA": lambda seed: CovariateLDA(2, **FEW_DRAWS, draw_every=1, random_state=seed).fit(
        [[1], [1]], covariates=[0, 1]
    ),
    "CompoundLDA": lambda seed: CompoundLDA(
        2, collection_topic_prior=1e-3, **FEW_DRAWS, draw_every=1, random_state=seed
    ).fit(TWO),
    "LabeledLDA": lambda seed: LabeledLDA(
        doc_topic_prior=1e-3, n_draws=6, n_chains=3, max_iter=16, random_state=seed
    ).fit(np.ones((20, 1), int), np.ones((20, 2), int)),
    "merged": lambda seed: merge_topics(GibbsLDA(3, **FEW_DRAWS, draw_every=1, random_state=seed).fit(TWO), [[0, 1]]),
}


@pytest.mark.parametrize("name", ONE_TOKEN)
def test_no_estimator_has_a_larger_one(name):
    found = [ONE_TOKEN[name](seed) for seed in range(6)]
    stds = {
        # That of a share is NaN if topics have exchanged their names, so that fewer than four draws are left.
        attribute: np.nan_to_num([getattr(lda, attribute) for lda in found]).max()
        for attribute in ("topic_share_std_", "doc_topic_std_", "collection_topic_std_")
        if hasattr(found[0], attribute)
    }
    assert len(stds) >= 2 and max(stds.values()) <= 0.5


def test_two_fits_that_differ_most():
    members = [np.array([[0, k], [1, k]]) for k in range(2)]
    draws = [np.array([[1.0, 0.0]] * 2), np.array([[0.0, 0.0]] * 2)]
    assert share_std(draws, members).tolist() == [0.5, 0.0]


def test_sums_of_proportions_have_the_errors_of_merged_topics():
    X = make_lda_corpus(30, 40, 4, doc_length=20, random_state=0).data
    lda = GibbsLDA(4, max_iter=20, random_state=0).fit(X)
    results = lda._results_
    summed = doc_topic_std(results.corpus, results.kept_draws(), TopicGroups(np.array([0, 1, 0, 2]), 3))
    np.testing.assert_allclose(summed, merge_topics(lda, [[0, 2]]).doc_topic_std_, rtol=1e-5)
