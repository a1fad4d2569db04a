"""The collapsed sweep and the log joint against enumeration.

Draws are independent (one sweep from a fixed start, or one chain a draw), so the chi-square holds; alarms are set at
1e-5. Each has its mutation: a sampler broken on purpose must be found at the same alarm.
"""

import numpy as np
import pytest
from enumeration import (
    DOCS,
    PRIORS,
    Enumeration,
    K,
    V,
    chi_square_p,
    make_chain,
    make_corpus,
    poisson_p,
    restart,
    rising,
)
from scipy.special import logsumexp

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.word_major import WordMajorChain

ALARM = 1e-5


def one_sweep_p(truth, start, n_draws, break_it=lambda chain: None, priors=None):
    """p-value of `n_draws` single sweeps from `start` against the exact transition."""
    chain = make_chain(truth.corpus, priors or truth.priors, start)
    start = chain.topics.copy()
    draws = np.empty((n_draws, len(start)), np.int32)
    for draw in draws:
        restart(chain, start)
        break_it(chain)
        chain.sweep()
        draw[:] = chain.topics
    return chi_square_p(truth.frequencies(draws), truth.transition(start))


# "large alpha": a topic that gains a token loses weight, because alpha is larger than the sum of eta.
@pytest.mark.mutation("test_a_dropped_prior_is_found")
@pytest.mark.parametrize("alpha, eta", [*PRIORS.values(), (3.0, 0.02)], ids=[*PRIORS, "large alpha"])
@pytest.mark.parametrize("start", [(0, 0, 0, 0, 0, 0, 0), (0, 1, 0, 1, 1, 0, 1)])
def test_one_sweep_has_the_exact_transition(alpha, eta, start):
    assert one_sweep_p(Enumeration(DOCS, V, K, alpha, eta), start, 5_000) > ALARM


@pytest.mark.mutation("test_a_wrong_count_is_found")
@pytest.mark.parametrize("n_components", [3, 18, 33])
def test_one_sweep_is_exact_for_any_number_of_lanes(n_components):
    """Across lanes and blocks: 18 topics wrap round the 16 lanes, 33 fill three blocks."""
    rng = np.random.default_rng(0)
    alpha, eta = rng.gamma(1, size=n_components) + 0.1, rng.gamma(1, size=(n_components, 2)) + 0.1
    truth = Enumeration([[0], [1, 0]], 2, n_components, alpha, eta)
    start = rng.integers(n_components, size=3)
    assert one_sweep_p(truth, start, 5_000) > ALARM


@pytest.mark.mutation
@pytest.mark.parametrize("kind", [GibbsChain, WordMajorChain])
@pytest.mark.parametrize("n_components", [18, 240, 256, 300, 1000])
def test_one_sweep_is_exact_in_wide_rows(n_components, kind):
    """Priors so large that tokens do not attract each other: each topic is drawn at the rate of its alpha."""
    n = 300_000
    alpha = 1e9 * (np.random.default_rng(0).gamma(1, size=n_components) + 0.01)
    corpus = Corpus(np.zeros(n, np.int32), np.arange(0, n + 1, 50_000), 1)
    chain = make_chain(corpus, Priors.make(alpha, 1e12, n_components, 1), np.zeros(n), kind=kind)
    chain.sweep()
    seen = np.bincount(chain.topics, minlength=n_components)
    assert chi_square_p(seen, alpha / alpha.sum()) > ALARM
    assert chi_square_p(seen, np.roll(alpha, 1) / alpha.sum()) < ALARM


def miscount_words(chain):
    chain.rows.arrays[0][:, 0] += 1


def miscount_topic(chain):
    chain.topic_totals[0] += 1


def misplace_token(chain):
    chain.topics[0] = 1 - chain.topics[0]


@pytest.mark.parametrize("break_it", [miscount_words, miscount_topic, misplace_token])
def test_a_wrong_count_is_found(break_it):
    assert one_sweep_p(Enumeration(DOCS, V, K, 0.4, 0.3), (0, 1, 0, 1, 1, 0, 1), 4_000, break_it) < ALARM


@pytest.mark.parametrize("alpha, eta", list(PRIORS.values())[1:], ids=list(PRIORS)[1:])
def test_a_dropped_prior_is_found(alpha, eta):
    truth = Enumeration(DOCS, V, K, alpha, eta)
    flat = Priors.make(np.mean(alpha), np.mean(eta), K, V)
    assert one_sweep_p(truth, (0, 1, 0, 1, 1, 0, 1), 5_000, priors=flat) < ALARM


# Single sweeps are exact with every shape, so the suite takes one of them for each sampler.
REACHED = [
    pytest.param(*PRIORS[name], kind, id=f"{kind.__name__}-{name}", marks=() if n == own else pytest.mark.exhaustive)
    for kind, own in ((GibbsChain, 1), (WordMajorChain, 2))
    for n, name in enumerate(PRIORS)
]


@pytest.mark.mutation("test_a_wrong_count_is_found")
@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "eta", "kind"), REACHED)
def test_chains_from_random_starts_reach_the_posterior(alpha, eta, kind):
    """After 20 sweeps what is left of the start adds less than 0.003 to the chi-square."""
    truth = Enumeration(DOCS, V, K, alpha, eta)
    draws = []
    for seed in np.random.SeedSequence(1).spawn(1500):
        chain = kind.initialise_randomly(truth.corpus, truth.priors, seed)
        for _ in range(20):
            chain.sweep()
        draws.append(chain.topics)
    assert chi_square_p(truth.frequencies(draws), truth.posterior) > ALARM


@pytest.mark.mutation
@pytest.mark.slow
def test_a_rare_topic_is_drawn_at_its_rate():
    """Four topics have 5.9e-8 of the weight of topic 1, in whose lane they are, each: in single precision, nothing.

    The priors are so large that tokens do not attract each other: 5.1e7 draws give them 12.0 together on average, and
    with a probability of 5.9e-6 none.
    """
    n, n_components, n_sweeps, rare = 17_000_000, 66, 3, [17, 33, 49, 65]
    alpha = np.full(n_components, 1e-6)
    alpha[1], alpha[rare] = 1e10, 590
    corpus = Corpus(np.zeros(n, np.int32), np.array([0, n]), 1)
    chain = make_chain(corpus, Priors.make(alpha, 1e12, n_components, 1), np.zeros(n))
    drawn = 0
    for _ in range(n_sweeps):
        chain.topics[:] = 0
        chain.recount()
        chain.sweep()
        drawn += np.bincount(chain.topics, minlength=n_components)[rare].sum()
    expected = n * n_sweeps * len(rare) * 590 / 1e10
    assert poisson_p(drawn, expected) > ALARM
    # In single precision the topics would never be drawn.
    assert poisson_p(0, expected) < ALARM


def expected_to_leave(n, eta, largest):
    """How many of n tokens of one word leave topic 0 for topic 1 in a sweep, with counts that stop at `largest`."""
    left, step = 0.0, 1000
    for _ in range(0, n, step):
        stay, go = min(n - left, largest), min(left, largest)
        p_stay, p_go = (stay + eta) / (n - left + 2 * eta), (go + eta) / (left + 2 * eta)
        left += step * p_go / (p_go + p_stay)
    return left


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GibbsChain, pytest.param(WordMajorChain, marks=pytest.mark.exhaustive)])
def test_counts_beyond_single_precision(kind):
    """25 million tokens of one word: in single precision a count stops at 2^24, where adding one does nothing."""
    n, length, eta = 25_000_000, 50_000, 25e6
    corpus = Corpus(np.zeros(n, np.int32), np.arange(0, n + 1, length), 2)
    # With such a large alpha documents have no influence.
    chain = make_chain(corpus, Priors.make(1e12, eta, 2, 2), np.zeros(n), kind=kind)
    chain.sweep()
    left = int(chain.topics.sum())
    np.testing.assert_array_equal(chain.topic_totals, [n - left, left])
    np.testing.assert_array_equal(chain.word_topic_counts[0, :2], [n - left, left])
    expected = expected_to_leave(n, eta, np.inf)
    sd = np.sqrt(expected * (1 - expected / n))
    assert abs(left - expected) < 6 * sd
    assert abs(left - expected_to_leave(n, eta, 2**24)) > 6 * sd


@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
def test_log_joint_is_the_closed_form(alpha, eta):
    truth = Enumeration(DOCS, V, K, alpha, eta)
    found = [make_chain(truth.corpus, truth.priors, z).log_joint() for z in truth.states]
    # an eta per topic and word is kept in single precision
    np.testing.assert_allclose(found, truth.log_joint, rtol=1e-12 if np.ndim(eta) < 2 else 2e-7)


def test_log_joint_of_a_large_corpus():
    rng = np.random.default_rng(0)
    corpus = make_corpus([rng.integers(50, size=n) for n in rng.integers(0, 3000, size=40)], 50)
    chain = make_chain(corpus, Priors.make(1e-3, 5.0, 7, 50), rng.integers(7, size=corpus.n_tokens))
    n_dk = np.array([np.bincount(part, minlength=7) for part in np.split(chain.topics, corpus.offsets[1:-1])])
    m_kv = chain.word_topic_counts[:, :7].T
    exact = rising(np.full((40, 7), 1e-3), n_dk) + rising(np.full((7, 50), 5.0), m_kv)
    np.testing.assert_allclose(chain.log_joint(), exact, rtol=1e-12)


# Rational arithmetic over set partitions, printed to 20 digits: log p(w | alpha, eta).
MARGINAL = [
    ([[0, 0, 0, 0, 1], [2, 2, 2, 3, 3], [0, 1, 0, 2, 2]], 4, 2, 1.0, 1.0, -20.66380528284249302999),
    ([[0, 0, 0, 0, 1], [2, 2, 2, 3, 3], [0, 1, 0, 2, 2]], 4, 2, 0.1, 0.1, -21.82681557105367411708),
    ([[0, 0, 0, 0, 1], [2, 2, 2, 3, 3], [0, 1, 0, 2, 2]], 4, 2, 2.0, 1.0, -20.86386678661402530228),
    ([[0, 0, 1], [1, 2, 2], [0, 2, 1, 1]], 3, 3, 0.1, 0.5, -12.64162834129544372648),
    ([[0, 0, 0], [1, 1, 1], [2, 2, 3]], 4, 3, 0.1, 0.5, -10.94363934262715767239),
]


@pytest.mark.parametrize("docs, n_features, n_components, alpha, eta, log_p", MARGINAL)
def test_log_joint_sums_to_the_marginal_likelihood(docs, n_features, n_components, alpha, eta, log_p):
    truth = Enumeration(docs, n_features, n_components, alpha, eta)
    np.testing.assert_allclose(logsumexp(truth.log_joint), log_p, rtol=1e-13)
