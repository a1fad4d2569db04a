"""Known topics: all samplers against enumeration, and the M-step for their weights.

Two topics are known and one is new. The words of known topics that do not change have the probability m_kv each, so
that z has the closed form prod_d DM(n_d | alpha) prod_kv m_kv^n_kv DM(n_3 | eta). Alarms are set at 1e-5.
"""

import numpy as np
import pytest
from enumeration import Enumeration, chi_square_p, make_chain, make_corpus, rising
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp, xlogy

from sklda._core.known_topic_priors import KnownMStep, KnownTopics
from sklda._core.priors import FIXED_WEIGHT, Priors
from sklda._models.seed_words import read_seed_words
from sklda._sampling.blocked import GroupedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.known_weights import log_std, weight_interval, weight_likelihood
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.prior_of_topics import PriorOfTopics
from sklda._sampling.word_major import WordMajorChain

ALARM = 1e-5
DOCS, V, K = [[0, 0, 1], [2, 1], [0, 3]], 4, 3
M = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]])
ALPHA, ETA = 0.4, 0.3
WEIGHTS = {"fixed": [np.inf, np.inf], "held": [3.0, 40.0], "one fixed": [2.0, np.inf]}
CHAINS = [GibbsChain, WordMajorChain, PartitionedChain, PartiallyCollapsedChain, GroupedChain]


def known_topics(weights, learnt=False):
    weights = np.array(weights)
    return KnownTopics(M, weights, np.full(len(weights), learnt))


def exact(weights):
    """The enumeration, with its posterior by the closed form."""
    truth = Enumeration(DOCS, V, K, ALPHA, ETA)
    log_joint = rising(truth.alpha, truth.n_dk)
    for k, weight in enumerate([*weights, 0.0]):
        counts = truth.m_kv[:, k : k + 1]
        if np.isinf(weight):
            log_joint += xlogy(counts, M[k]).sum(axis=(1, 2))
        else:
            log_joint += rising(truth.eta[k : k + 1] + weight * (M[k] if k < 2 else 0), counts)
    truth.posterior = np.exp(log_joint - logsumexp(log_joint))
    return truth


def p_value(kind, weights, truth, n_chains=750):
    """Of independent chains after 20 sweeps from random starts."""
    priors = known_topics(weights).with_priors(Priors.make(ALPHA, ETA, K, V), ETA, None, np.array(weights))
    draws = []
    for seed in np.random.SeedSequence(1).spawn(n_chains):
        chain = kind.initialise_randomly(truth.corpus, priors, seed)
        for _ in range(20):
            chain.sweep()
        draws.append(chain.topics)
    return chi_square_p(truth.frequencies(draws), truth.posterior)


@pytest.mark.mutation("test_topics_that_are_not_fixed_are_found")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        pytest.param(
            kind,
            weights,
            id=f"{kind.__name__}-{name}",
            # A prior with finite weights is an eta for each topic and word, which has tests of its own.
            marks=() if name == "fixed" or kind is GibbsChain else pytest.mark.exhaustive,
        )
        for kind in CHAINS
        for name, weights in WEIGHTS.items()
    ],
)
def test_all_samplers_have_the_exact_posterior(kind, weights):
    assert p_value(kind, weights, exact(weights)) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHAINS[:2])
def test_topics_that_are_not_fixed_are_found(kind):
    assert p_value(kind, [5.0, 5.0], exact([np.inf, np.inf])) < ALARM


@pytest.mark.parametrize("kind", CHAINS[:2])
def test_a_fixed_topic_never_has_a_word_of_probability_zero(kind):
    truth = exact([np.inf, np.inf])
    priors = known_topics([np.inf] * 2).with_priors(Priors.make(ALPHA, ETA, K, V), ETA, None, np.array([np.inf] * 2))
    chain = kind.initialise_randomly(truth.corpus, priors, np.random.SeedSequence(0))
    for _ in range(200):
        chain.sweep()
        assert chain.word_topic_counts[3, 0] == 0


def test_log_joint_differs_from_the_closed_form_by_a_constant():
    """Words of probability zero have 1e-12 / 2^80 in a fixed topic: states with them are left out."""
    weights = [np.inf, 3.0]
    truth = exact(weights)
    priors = known_topics(weights).with_priors(Priors.make(ALPHA, ETA, K, V), ETA, None, np.array(weights))
    possible = truth.posterior > 0
    found = np.array([make_chain(truth.corpus, priors, z).log_joint() for z in truth.states[possible][::7]])
    expected = np.log(truth.posterior[possible][::7])
    np.testing.assert_allclose(found - expected, found[0] - expected[0], rtol=1e-6)


def test_priors_of_fixed_topics():
    known = known_topics([np.inf, 7.0])
    priors = known.with_priors(Priors.make(ALPHA, ETA, K, V), ETA, None, known.weights)
    assert priors.fixed.tolist() == [True, False, False]
    np.testing.assert_allclose(priors.topic_word()[1:], [ETA + 7 * M[1], [ETA] * 4], rtol=1e-6)
    np.testing.assert_allclose(priors.topic_word()[0, :3] / FIXED_WEIGHT, M[0, :3], rtol=1e-6)
    assert priors.largest() < 10
    # eta of a fit can be given to another one.
    again = Priors.make(ALPHA, priors.topic_word(), K, V)
    np.testing.assert_array_equal(again.topic, priors.topic)
    with pytest.raises(ValueError, match="must lie between"):
        Priors.make(ALPHA, np.full((K, V), 1e13), K, V)


# --- The M-step ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain():
    """A chain of 2,400 tokens of drifted topics, in a state of its posterior."""
    rng = np.random.default_rng(0)
    V = 30
    m = rng.dirichlet(np.full(V, 0.3), 2)
    phi = np.vstack([[rng.dirichlet(60 * m[0]), m[1]], rng.dirichlet(np.full(V, 0.3), 1)])
    docs = [rng.choice(V, 30, p=rng.dirichlet(np.full(3, 0.4)) @ phi) for _ in range(80)]
    corpus = make_corpus(docs, V)
    known = KnownTopics(m, np.array([50.0, 50.0]), np.ones(2, bool))
    priors = known.with_priors(Priors.make(0.4, 0.2, 3, V), 0.2, None, known.weights)
    chain = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    for _ in range(100):
        chain.sweep()
    return chain, known


def log_words(n, eta):
    """log p of the counts of topics with a matrix eta."""
    return float(rising(eta, n.astype(float)))


@pytest.mark.parametrize("given", [None, 0.2, "by word"])
def test_the_m_step_has_the_largest_log_joint(chain, given):
    chain, known = chain
    given = np.linspace(0.1, 0.4, 30) if given == "by word" else given
    step = PriorOfTopics(0.1 if given is None else given, given is None, None, known).m_step
    assert isinstance(step, KnownMStep)
    draws = []
    for _ in range(3):
        chain.sweep()
        draws.append((step.statistics(chain), chain.word_topic_counts[:, :3].T.copy()))
    log_h = step.present(chain)
    for _ in range(200):
        log_h = step.maximum([each for each, _ in draws], log_h)
    eta = np.exp(log_h[-3]) if given is None else given

    def mean(log_eta, log_weights):
        base = np.broadcast_to(np.exp(log_eta) if given is None else given, (3, 30)).copy()
        base[:2] += np.exp(log_weights)[:, None] * known.topic_word
        return np.mean([log_words(counts, base) for _, counts in draws])

    best = mean(log_h[-3], log_h[-2:])
    for k in range(2):

        def of_weight(x, k=k):
            moved = log_h[-2:].copy()
            moved[k] = x
            return -mean(log_h[-3], moved)

        found = minimize_scalar(of_weight, bounds=np.log([1e-2, 1e9]), method="bounded", options={"xatol": 1e-8})
        assert -found.fun <= best + 1e-6
    if given is None:
        found = minimize_scalar(lambda x: -mean(x, log_h[-2:]), bounds=(-8, 8), method="bounded")
        assert -found.fun <= best + 1e-6
        np.testing.assert_allclose(np.log(eta), found.x, atol=1e-3)


def test_pseudo_counts_of_seed_words_stay(chain):
    chain, known = chain
    seeds = read_seed_words({2: {4: 3.0, 9: 2.0}}, 3, 30, None, n_known=2)
    added = seeds.pseudo_counts
    step = PriorOfTopics(0.1, True, seeds, known).m_step
    counts = chain.word_topic_counts[:, :3].T
    log_h = step.present(chain)
    for _ in range(200):
        log_h = step.maximum([step.statistics(chain)], log_h)

    def mean(log_h):
        eta = np.exp(log_h[-3]) + added.toarray()
        eta[:2] += np.exp(log_h[-2:])[:, None] * known.topic_word
        return log_words(counts, eta)

    best = mean(log_h)
    for i in (-3, -2, -1):
        for change in (-0.02, 0.02):
            moved = log_h.copy()
            moved[i] = np.clip(moved[i] + change, np.log(1e-5), np.log(1e9))
            assert mean(moved) <= best + 1e-9


def test_the_likelihood_of_weights_and_its_derivatives(chain):
    chain, known = chain
    chain.draws.clear()
    for _ in range(4):
        chain.sweep()
        chain.keep_draw(4)
    likelihood = weight_likelihood(chain.corpus, chain.kept_draws(), PriorOfTopics(0.1, True, None, known))
    x = np.log([30.0, 700.0])
    value, first, second = likelihood(x)
    eta = chain.priors.base_eta

    def by_hand(x):
        found = np.empty((4, 2))
        for s, draw in enumerate(chain.draws):
            for k in range(2):
                n = np.bincount(chain.corpus.words[draw.topics == k], minlength=30)
                a = eta + np.exp(x[k]) * known.topic_word[k]
                found[s, k] = (gammaln(a + n) - gammaln(a)).sum() + gammaln(a.sum()) - gammaln(a.sum() + n.sum())
        return found

    np.testing.assert_allclose(value, by_hand(x), rtol=1e-9)
    h = 1e-4
    np.testing.assert_allclose(first, (by_hand(x + h) - by_hand(x - h)) / (2 * h), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second, (by_hand(x + h) - 2 * by_hand(x) + by_hand(x - h)) / h**2, rtol=1e-3, atol=1e-3)
    low, high = weight_interval(likelihood, x, 2.0)
    assert (low < high).all()
    assert (log_std(likelihood, x) > 0).all()
