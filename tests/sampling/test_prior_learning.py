"""Priors learnt in the burn-in: statistics, M-steps against scipy, exact draws afterwards, and estimates on simulated
corpora.
"""

import tracemalloc

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, K, V, chi_square_p, make_chain
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, polygamma
from sklearn.exceptions import ConvergenceWarning

from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda._core import rising
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import BOUNDS, SeededMStep
from sklda._core.newton import RankOneUpdate
from sklda._core.priors import Priors
from sklda._core.progress import Progress
from sklda._core.rising import SumOfLogRising
from sklda._sampling import prior_of_documents
from sklda._sampling.chain import KeptDraws
from sklda._sampling.choice import SAMPLERS, chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_learning import DefaultPrior, Learner, fixed_point, missing_information
from sklda._sampling.prior_of_documents import SharedAlpha
from sklda._sampling.prior_of_topics import PriorOfTopics
from sklda._sampling.run_chains import Run, Schedule
from sklda._sampling.steps import Draw
from sklda._sampling.word_major import WordMajorChain
from sklda.datasets import make_lda_corpus

ALARM = 1e-5


def simulated(seed=0, n_documents=60, n_features=25, n_components=4, **options):
    """A simulated corpus of small documents."""
    X = make_lda_corpus(n_documents, n_features, n_components, random_state=seed, **options).data
    return Corpus.from_counts(X, lambda X, **_: X)


def counts_of(corpus, topics, n_components):
    """n_dk and m_kv of one draw."""
    documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    n_dk, m_kv = np.zeros((corpus.n_documents, n_components)), np.zeros((n_components, corpus.n_features))
    np.add.at(n_dk, (documents, topics), 1)
    np.add.at(m_kv, (topics, corpus.words), 1)
    return n_dk, m_kv


def log_rows(prior, counts):
    """Sum over rows of the log probability of ordered draws whose proportions have the Dirichlet parameter `prior`."""
    prior = np.broadcast_to(prior, counts.shape)
    totals = prior.sum(axis=-1)
    of_totals = gammaln(totals) - gammaln(totals + counts.sum(axis=-1))
    return (gammaln(prior + counts) - gammaln(prior)).sum() + of_totals.sum()


@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
@pytest.mark.parametrize("longest", [49, 3000])
@pytest.mark.parametrize("n_components", [1, 2, 17, 300])
def test_histograms_are_those_of_all_counts(kind, n_components, longest):
    corpus = simulated(doc_length=[*range(50), *range(9), longest])
    chain = make_chain(
        corpus,
        Priors.make(0.1, 0.1, n_components, corpus.n_features),
        np.random.default_rng(0).integers(n_components, size=corpus.n_tokens) ** 2 // n_components,
        kind=kind,
    )
    for _ in range(2):
        n_dk, m_kv = (counts.astype(int) for counts in counts_of(corpus, chain.topics, n_components))
        by_topic = np.array([np.bincount(column[column > 0], minlength=n_dk.max() + 1) for column in n_dk.T])
        found = chain.doc_histogram_by_topic().toarray()
        assert found.shape[1] == corpus.lengths.max() + 1 and not found[:, by_topic.shape[1] :].any()
        np.testing.assert_array_equal(found[:, : by_topic.shape[1]], by_topic)
        np.testing.assert_array_equal(chain.doc_histogram(), by_topic.sum(axis=0))
        words = chain.word_histogram()
        np.testing.assert_array_equal(words, np.bincount(m_kv[m_kv > 0], minlength=len(words)))
        # Lists of topics have another order, and entries without tokens, after a sweep.
        chain.sweep()


@pytest.mark.parametrize("block", [2**18, 1000, 1])
@pytest.mark.parametrize("numbers", [[[0, 0], [0, 0]], [[1, 5, 5], [0, 900, 2]], [[3], [0]]])
def test_sums_of_log_rising_factorials(numbers, block, monkeypatch):
    monkeypatch.setattr(rising, "_BLOCK", block)
    numbers = np.array(numbers)
    a = np.array([0.03, 700.0])
    histogram = np.array([np.bincount(row, minlength=1000) for row in numbers])
    first = a[:, None] * (digamma(a[:, None] + numbers) - digamma(a[:, None]))
    second = first + a[:, None] ** 2 * (polygamma(1, a[:, None] + numbers) - polygamma(1, a[:, None]))
    value = gammaln(a[:, None] + numbers) - gammaln(a[:, None])
    expected = [each.sum(axis=1) for each in (value, first, second)]
    for form in (np.array, csr_array):
        np.testing.assert_allclose(SumOfLogRising(form(histogram))(a), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("free", [[0, 1, 2, 3, 4], [1, 4], [2], []])
def test_direction_with_a_rank_one_update_is_that_of_the_matrix(free):
    rng = np.random.default_rng(0)
    diagonal, vector, gradient = -1 - rng.random(5), rng.dirichlet(np.ones(5)), rng.normal(size=5)
    free = np.isin(np.arange(5), free)
    matrix = np.diag(diagonal) + 0.9 * np.outer(vector, vector)
    found = RankOneUpdate(diagonal, 0.9, vector).direction(gradient, free)
    np.testing.assert_allclose(found, np.linalg.solve(-matrix[np.ix_(free, free)], gradient[free]))


@pytest.mark.parametrize(
    "diagonal, factor", [([-1.0, 0.5], 0.1), ([-1.0, -1.0], 3.0), ([-1.0, 0.0], 0.0), ([1.0, 1.0], 0.5)]
)
def test_directions_go_up_if_the_matrix_is_not_negative_definite(diagonal, factor):
    gradient = np.array([0.3, -2.0])
    step = RankOneUpdate(np.array(diagonal), factor, np.array([0.6, 0.8])).direction(gradient, np.array([True, True]))
    assert np.isfinite(step).all()
    assert step @ gradient > 0


@pytest.mark.parametrize("everywhere", [False, True])
def test_eta_with_pseudo_counts_has_the_largest_likelihood(everywhere):
    corpus, n_components = simulated(), 3
    rng = np.random.default_rng(1)
    added = rng.gamma(1, 20, (n_components, corpus.n_features))
    added[rng.random(added.shape) < (0 if everywhere else 0.9)] = 0
    priors = Priors.make(0.3, 0.5 + added, n_components, corpus.n_features)
    draws = [rng.choice(n_components, size=corpus.n_tokens, p=[0.6, 0.3, 0.1]) for _ in range(3)]
    topics, words = np.nonzero(added)
    step = SeededMStep((None, (1e-5, 1e4)), False, (topics, words, added[topics, words]))
    statistics = [step.statistics(make_chain(corpus, priors, draw)) for draw in draws]
    found = np.exp(step.maximum(statistics, np.log([0.3, 0.5]))[1])

    m_kv = [counts_of(corpus, draw, n_components)[1] for draw in draws]

    def loss(log_eta):
        return -np.mean([log_rows(np.exp(log_eta) + added, counts) for counts in m_kv])

    best = minimize_scalar(loss, bounds=np.log([1e-5, 1e4]), method="bounded", options={"xatol": 1e-10})
    # The loss is known to rounding, so its argmin to the root of that.
    np.testing.assert_allclose(found, np.exp(best.x), rtol=2e-5)
    assert loss(np.log(found)) <= best.fun + 1e-9 * abs(best.fun)


class Collector(Progress):
    """Keeps z and the priors of a chain after every sweep."""

    def __init__(self):
        self.topics, self.priors = [], []

    def after(self, index, chain):
        self.topics.append(chain.topics.copy())
        self.priors.append(chain.priors)


def best_alpha(n_dk, start):
    """alpha, one number or one per topic, at the maximum of the mean log p(z | alpha), by scipy."""
    n_draws, _, n_components = n_dk.shape
    lengths = n_dk.sum(axis=2)

    def loss(x):
        alpha = np.exp(np.broadcast_to(x, n_components))
        total = alpha.sum()
        first = alpha * (
            digamma(alpha + n_dk) - digamma(alpha) + (digamma(total) - digamma(total + lengths))[..., None]
        )
        gradient = first.sum(axis=(0, 1))
        return -log_rows(alpha, n_dk) / n_draws, -(gradient if len(x) > 1 else gradient.sum()[None]) / n_draws

    return np.exp(minimize(loss, np.log(start), jac=True, method="BFGS", options={"gtol": 1e-9}).x)


def learning_chain(corpus, n_components, kind, n_sweeps, seed, learn=True, bounds=BOUNDS):
    """A chain that learns both priors in the first half of its sweeps, its `Schedule`, and its first priors."""
    documents = SharedAlpha(None, DefaultPrior(True, 1 / n_components), learn, n_components)
    topics = PriorOfTopics(1 / n_components, True, bounds=bounds)
    priors = topics.priors(documents.alpha, n_components, corpus.n_features)
    chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(seed))
    chain.n_burn_in = n_sweeps // 2
    return chain, Schedule(m_steps=(documents.m_step, topics.m_step)), priors


@pytest.mark.parametrize("learn", [True, "symmetric"])
@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
def test_learnt_priors_are_the_optimum_over_the_stored_draws(learn, kind, monkeypatch):
    # Without extrapolation.
    monkeypatch.setattr("sklda._sampling.prior_learning.fixed_point", lambda values: np.mean(values, axis=0))
    corpus, n_components = simulated(3, doc_topic_prior=np.array([0.1, 0.3, 0.6, 1.2])), 4
    chain, schedule, priors = learning_chain(corpus, n_components, kind, 200, 0, learn)
    seen = Collector()
    (chain,) = Run(seen).sweep([chain], 200, schedule=schedule)
    # M-steps are after sweeps 21, 24, ..., 99. The last one, after sweep 100, uses the draws of their second half.
    n_dk, m_kv = (
        np.array(each)
        for each in zip(*(counts_of(corpus, seen.topics[i], n_components) for i in range(59, 100, 3)), strict=True)
    )
    found = chain.priors.doc[0] if learn is True else chain.priors.doc[0, :1]
    np.testing.assert_allclose(found, best_alpha(n_dk, found * 1.3), rtol=1e-6)
    eta = chain.priors.word[0]
    np.testing.assert_allclose(eta, best_alpha(m_kv, [eta * 1.3])[0], rtol=1e-6)
    assert seen.priors[98] is not seen.priors[99]
    assert all(each is chain.priors for each in seen.priors[99:])
    assert all(each is priors for each in seen.priors[:19])


# Sweeps of every sampler are exact by tests of their own, and the schedule is the same code.
@pytest.mark.mutation
@pytest.mark.parametrize(
    "sampler", [SAMPLERS[0], *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (*SAMPLERS[1:], "sparse"))]
)
def test_draws_after_the_burn_in_have_the_posterior_at_the_learnt_priors(sampler, monkeypatch):
    """15 sweeps between draws, which are then as good as independent. At the initial priors the posterior is another.

    Bounds keep the priors where chains on so few tokens move freely.
    """
    monkeypatch.setattr(prior_of_documents, "BOUNDS", (0.15, 3.0))
    truth = Enumeration(DOCS, V, K, 0.5, 0.5)
    kind = WordMajorChain if sampler == "sparse" else chain_class(sampler, truth.corpus, truth.priors)
    chain, schedule, _ = learning_chain(truth.corpus, K, kind, 60, 2, bounds=(0.15, 3.0))
    (chain,) = Run().sweep([chain], 60, schedule=schedule)
    learnt = Enumeration(DOCS, V, K, chain.priors.doc[0], chain.priors.word)
    draws = []
    for _ in range(800):
        for _ in range(15):
            chain.sweep()
        draws.append(chain.topics.copy())
    assert chi_square_p(truth.frequencies(draws), learnt.posterior) > ALARM
    assert chi_square_p(truth.frequencies(draws), truth.posterior) < ALARM


@pytest.mark.parametrize("left", [0.0, 0.3, 0.9])
def test_the_fixed_point_of_geometric_sequences(left):
    values = [np.array([2.0, -1.0]) + left**i * np.array([1.0, 5.0]) for i in range(6)]
    np.testing.assert_allclose(fixed_point(values), [2.0, -1.0], atol=1e-9)
    # Noise around the limit leaves it where it is.
    noise = np.random.default_rng(0).standard_normal((1000, 1))
    assert abs(fixed_point(list(noise)) - noise.mean()) < 0.01
    # A sequence that does not slow down has no limit, and goes only so far.
    assert fixed_point([np.array([float(i)]) for i in range(6)]) < 40


class PlainLearner(Learner):
    """An M-step in every tenth sweep, without extrapolation."""

    def __init__(self, m_step):
        super().__init__(m_step, every=10)


# With M-steps in every tenth sweep, all of which the last one averages, errors of four corpora were .17 to .27 and .12
# to .14.
@pytest.mark.mutation("sklda._sampling.run_chains.Learner", PlainLearner)
def test_learnt_alpha_does_not_depend_on_the_length_of_the_fit():
    """The sum of alpha after 100 and 200 sweeps is that after 600. It begins at 1 and is 3.

    Errors of seven corpora had means of at most .013, and standard deviations of .021 and .012.
    """
    truth = {"doc_topic_prior": 0.3, "topic_word_prior": 0.05, "random_state": 0}
    X = make_lda_corpus(300, 400, 10, doc_length=60, **truth).data
    fits = [GibbsLDA(10, max_iter=n, n_draws=1, random_state=0).fit(X) for n in (100, 200, 600)]
    *short, long = np.log([lda.doc_topic_prior_.sum() for lda in fits])
    assert (np.abs(np.array(short) - long) < [0.12, 0.075]).all()


# alpha of eight topics, with the sum 2.9, and eta of the corpora below.
ALPHA, ETA = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.7, 1.0]), 0.1


def recovery_corpus(seed):
    return make_lda_corpus(
        200, 100, 8, doc_length=80, doc_topic_prior=ALPHA, topic_word_prior=ETA, random_state=seed
    ).data


def recovery_errors(lda):
    """Logarithms of the learnt sum of alpha and of the learnt eta, relative to those of the corpus."""
    return np.log([np.sum(lda.doc_topic_prior_) / ALPHA.sum(), lda.topic_word_prior_ / ETA])


def assert_recovered(lda):
    """Bounds that errors exceed with a probability of less than 1e-6, if they are normal.

    On 30 simulated corpora, 700 sweeps from random topics had errors with means of 0.01 and 0.02, and with standard
    deviations of 0.065 and 0.09. On 12, 300 sweeps from the true topics had means of at most 0.072
    and standard deviations of at most 0.06 and 0.085, with every sampler.
    """
    assert (np.abs(recovery_errors(lda)) < [0.4, 0.56]).all()


def test_priors_of_simulated_corpora_are_recovered():
    for seed in range(2):
        X = recovery_corpus(seed)
        assert_recovered(GibbsLDA(8, max_iter=700, n_draws=1, random_state=seed).fit(X))
    # The initial priors are elsewhere.
    fixed = GibbsLDA(8, max_iter=1, learn_priors=False, n_draws=1, random_state=0).fit(X)
    assert (np.abs(recovery_errors(fixed)) > [0.4, -1]).all()


@pytest.mark.parametrize("sampler", [*SAMPLERS, "sparse"])
def test_every_sampler_recovers_the_priors(sampler, monkeypatch):
    """From the true topics, because the blocked samplers need many sweeps to find them."""
    if sampler == "sparse":
        monkeypatch.setattr("sklda._sampling.choice.COSTS", {"dense": np.ones(4), "sparse": np.zeros(5)})
    corpus = make_lda_corpus(200, 100, 8, doc_length=80, doc_topic_prior=ALPHA, topic_word_prior=ETA, random_state=9)
    lda = GibbsLDA(
        8,
        sampler="collapsed" if sampler == "sparse" else sampler,
        init=corpus.topic_assignments,
        max_iter=300,
        n_draws=1,
        random_state=0,
    ).fit(corpus.data)
    assert lda.sampler_ == {"collapsed": "dense"}.get(sampler, sampler)
    assert_recovered(lda)


@pytest.mark.parametrize("learn", [GibbsLDA(60, max_iter=20), CollapsedVariationalLDA(60, max_iter=5)])
def test_a_long_document_takes_no_memory_for_each_topic(learn):
    X = np.random.default_rng(0).poisson(0.3, (20, 50))
    X[0] = 2000
    tracemalloc.start()
    lda = learn.set_params(random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.ptp(lda.doc_topic_prior_) > 0
    # A dense histogram of every topic takes 48 MB.
    assert peak < 30e6


def test_missing_information_is_that_of_second_and_first_derivatives():
    """Against numerical derivatives in the logarithm of the sum of alpha."""
    corpus, rng, K, step = simulated(n_documents=8), np.random.default_rng(0), 4, 1e-3
    alpha = rng.gamma(1, 1, K) + 0.1
    topics = [Draw(i, rng.integers(K, size=corpus.n_tokens), {}) for i in range(6)]
    draws = KeptDraws(Priors.make(alpha, 0.1, K, 25), topics)
    values = np.empty((3, 6, 8))
    for s in range(3):
        scaled = alpha * np.exp(step * (s - 1))
        for i, topics in enumerate(draws.topics):
            n_dk = counts_of(corpus, topics, K)[0]
            values[s, i] = [log_rows(scaled, row[None]) for row in n_dk]
    first, second = (values[2] - values[0]) / (2 * step), (values[2] - 2 * values[1] + values[0]) / step**2
    exact = first.var(axis=0, ddof=1).sum() / -second.sum(axis=1).mean()
    missing, to_come = missing_information(corpus, draws)
    assert missing == pytest.approx(exact, rel=1e-4)
    slopes, observed = first.sum(axis=1), -second.sum(axis=1).mean() * max(1 - exact, 1e-3)
    is_sure = abs(slopes.mean() / observed) > 3 * np.hypot(slopes.std(ddof=1) / np.sqrt(6) / observed, observed**-0.5)
    assert to_come == pytest.approx(slopes.mean() / observed if is_sure else 0, rel=1e-4)
    assert np.isnan(missing_information(corpus, draws.last(4))).all()


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.parametrize("kind", [True, "symmetric"])
def test_a_corpus_that_says_little_about_alpha_has_a_warning(kind):
    weak = make_lda_corpus(200, 300, 15, doc_length=20, doc_topic_prior=0.3, topic_word_prior=0.3, random_state=0).data
    with pytest.warns(ConvergenceWarning, match="learnt alpha may be far"):
        GibbsLDA(15, learn_priors=kind, max_iter=200, random_state=0).fit(weak)
    # No warning: alpha is given, or words tell topics apart.
    GibbsLDA(15, learn_priors=kind, doc_topic_prior=0.3, max_iter=100, random_state=0).fit(weak)
    clear = make_lda_corpus(200, 100, 3, doc_length=40, doc_topic_prior=0.3, topic_word_prior=0.05, random_state=0).data
    GibbsLDA(3, learn_priors=kind, max_iter=200, random_state=0).fit(clear)


def test_a_burn_in_too_short_to_learn_alpha_has_a_warning():
    truth = {"doc_topic_prior": 2.0, "topic_word_prior": 0.05, "random_state": 0}
    X = make_lda_corpus(300, 500, 5, doc_length=60, **truth).data
    with pytest.warns(ConvergenceWarning, match="too few sweeps.*learnt alpha is too small"):
        GibbsLDA(5, max_iter=40, burn_in=15, draw_every=1, random_state=0).fit(X)
    GibbsLDA(5, random_state=0).fit(X)


def test_one_topic_has_no_information_about_alpha():
    lda = GibbsLDA(1, max_iter=200, n_draws=40, draw_every=1, random_state=0).fit([[2, 1], [1, 3]])
    assert np.isnan(missing_information(lda._results_.corpus, lda._results_.draws[0])).all()
