"""The samplers that give one chain several cores, against enumeration and against themselves.

A sweep from an exact draw of the posterior must end in another: such draws are independent, so the chi-square holds.
Alarms are set at 1e-5, and each has its mutation.
"""

import dataclasses

import joblib
import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, chi_square_p, make_chain, make_corpus, poisson_p, restart
from interrupts import StopAtLook
from scipy.stats import gamma

from sklda import GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.parallel import Stopped
from sklda._core.priors import Priors
from sklda._kernels import _dirichlet
from sklda._sampling import partitioned
from sklda._sampling.blocked import GroupedChain, ThreadedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain

ALARM = 1e-5
PRIORS = PRIORS | {"tiny": (0.001, 0.001), "tiny, eta per topic and word": (0.001, np.full((K, V), 0.001))}


class AlphaPerDocument(PartiallyCollapsedChain):
    """The same alpha given for each document, which takes a kernel of its own."""

    def __init__(self, corpus, priors, state):
        if priors.shared:
            row_of = np.arange(corpus.n_documents, dtype=np.int32) % 2
            priors = dataclasses.replace(priors, doc=np.repeat(priors.doc, 2, axis=0), row_of=row_of)
        super().__init__(corpus, priors, state)


BLOCK_KINDS = [GroupedChain, PartiallyCollapsedChain, AlphaPerDocument]


@pytest.fixture(params=[*BLOCK_KINDS, PartitionedChain])
def kind(request):
    return request.param


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks of documents and of words, and many steps, from a small corpus."""
    monkeypatch.setattr(ThreadedChain, "block_tokens", 200)
    monkeypatch.setattr(ThreadedChain, "block_entries", 256)
    monkeypatch.setattr(partitioned, "_LEAST_STEP", 0.2)


def stationary_p(kind, truth, *, priors=None, break_it=lambda chain: None, n_draws=1_500):
    """p-value of one sweep from each of `n_draws` exact draws against the posterior."""
    starts = truth.states[np.random.default_rng(0).choice(len(truth.states), size=n_draws, p=truth.posterior)]
    chain = make_chain(truth.corpus, priors or truth.priors, starts[0], kind=kind)
    draws = np.empty(starts.shape, np.int32)
    for start, draw in zip(starts, draws, strict=True):
        restart(chain, start)
        break_it(chain)
        chain.sweep()
        draw[:] = chain.topics
    return chi_square_p(truth.frequencies(draws), truth.posterior)


@pytest.mark.mutation("test_a_dropped_prior_is_found")
@pytest.mark.slow
@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
def test_a_sweep_keeps_the_posterior(kind, alpha, eta):
    assert stationary_p(kind, Enumeration(DOCS, V, K, alpha, eta)) > ALARM


@pytest.mark.mutation("test_the_theta_of_a_neighbour_is_found")
@pytest.mark.slow
def test_a_sweep_keeps_the_posterior_of_three_topics(kind):
    rng = np.random.default_rng(0)
    alpha, eta = rng.gamma(1, size=3) + 0.1, rng.gamma(1, size=(3, 2)) + 0.1
    assert stationary_p(kind, Enumeration([[0, 0, 1], [], [1, 0]], 2, 3, alpha, eta)) > ALARM


@pytest.mark.mutation("test_a_wrong_phi_or_total_is_found")
@pytest.mark.parametrize("n_workers", [1, 2, 6])
def test_a_sweep_keeps_the_posterior_with_other_numbers_of_workers(monkeypatch, n_workers):
    monkeypatch.setattr(partitioned, "_LEAST_WORKERS", n_workers)
    assert stationary_p(PartitionedChain, Enumeration(DOCS, V, K, 0.4, 0.3)) > ALARM


def keep_phi(chain):
    """phi is not drawn anew: it is drawn given the start of the sweep before."""
    phi = type(chain)._draw_topics(chain, 1, np.random.SeedSequence(1))
    before = getattr(chain, "phi_of_this_start", phi)
    chain.phi_of_this_start = phi
    chain._draw_topics = lambda key, seed: before


def miscount_words(chain):
    chain.rows.arrays[0][:, 0] += 1


def miscount_topics(chain):
    chain.topic_totals[0] += 3


MUTATIONS = [(kind, keep_phi) for kind in BLOCK_KINDS] + [(kind, miscount_words) for kind in BLOCK_KINDS]
MUTATIONS += [(PartitionedChain, miscount_words), (PartitionedChain, miscount_topics)]


@pytest.mark.parametrize("kind, break_it", MUTATIONS)
def test_a_wrong_phi_or_total_is_found(kind, break_it):
    assert stationary_p(kind, Enumeration(DOCS, V, K, 0.4, 0.3), break_it=break_it) < ALARM


# The exact transitions of every kind are tested with every shape; one shape for each kind is broken here.
DROPPED = [
    pytest.param(kind, *PRIORS[name], id=f"{kind.__name__}-{name}", marks=() if i == n else pytest.mark.exhaustive)
    for i, kind in enumerate([*BLOCK_KINDS, PartitionedChain])
    for n, name in enumerate(list(PRIORS)[1:5])
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "alpha", "eta"), DROPPED)
def test_a_dropped_prior_is_found(kind, alpha, eta):
    flat = Priors.make(np.mean(alpha), np.mean(eta), K, V)
    assert stationary_p(kind, Enumeration(DOCS, V, K, alpha, eta), priors=flat) < ALARM


def test_the_theta_of_a_neighbour_is_found(monkeypatch):
    def shifted(*arguments):
        # The last two documents have two tokens each.
        *others, topics = arguments
        return sweep_block(*others, topics[[0, 1, 2, 5, 6, 3, 4]])

    sweep_block = GroupedChain._sweep_block
    monkeypatch.setattr(GroupedChain, "_sweep_block", staticmethod(shifted))
    assert stationary_p(GroupedChain, Enumeration(DOCS, V, K, 0.4, 0.3)) < ALARM


@pytest.mark.mutation("test_a_wrong_phi_or_total_is_found")
@pytest.mark.slow
def test_chains_from_one_start_reach_the_posterior(kind):
    truth = Enumeration([[0, 0], [2, 1]], 3, 2, 0.4, 0.3)
    chain = make_chain(truth.corpus, truth.priors, (0, 1, 1, 0), kind=kind)
    draws = []
    for _ in range(400):
        restart(chain, (0, 1, 1, 0))
        for _ in range(15):
            chain.sweep()
        draws.append(chain.topics.copy())
    assert chi_square_p(truth.frequencies(draws), truth.posterior) > ALARM


@pytest.mark.mutation
@pytest.mark.parametrize("n_components", [18, 300])
def test_many_topics(kind, n_components):
    """Documents of the words 0 and 1, with phi as good as given by a prior of 1e9: the pairs of topics are independent.

    One sweep from exact draws of the pairs; the mutation has its alphas moved by one topic.
    """
    n, rng = 60_000, np.random.default_rng(0)
    alpha, phi = rng.gamma(1, size=n_components) + 0.01, rng.gamma(1, size=(n_components, 2)) + 0.01
    phi /= phi.sum(axis=0)
    # Columns share a factor, rows sum to anything: the priors' totals differ from topic to topic.
    eta = 1e9 * phi / phi.sum(axis=1, keepdims=True)
    pairs = np.outer(alpha * eta[:, 0], alpha * eta[:, 1])
    pairs[np.diag_indices(n_components)] *= 1 + 1 / alpha
    pairs = pairs.ravel() / pairs.sum()
    start = np.stack(np.divmod(rng.choice(len(pairs), size=n, p=pairs), n_components), axis=1).ravel()
    corpus = Corpus(np.tile(np.array([0, 1], np.int32), n), np.arange(0, 2 * n + 1, 2), 2)

    def p_value(alpha):
        chain = make_chain(corpus, Priors.make(alpha, eta, n_components, 2), start, 1, kind)
        chain.sweep()
        found = chain.topics[::2].astype(np.int64) * n_components + chain.topics[1::2]
        return chi_square_p(np.bincount(found, minlength=n_components**2), pairs)

    assert p_value(alpha) > ALARM
    assert p_value(np.roll(alpha, 1)) < ALARM


# The suite has this for the collapsed kernel.
@pytest.mark.mutation
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", BLOCK_KINDS)
def test_rare_topics_are_drawn_at_their_rate(kind):
    """Workers draw with the code of the collapsed kernel, which has a test of its own.

    Four topics have 5.9e-8 of the weight of topic 1, in whose lane they are, each: in single precision, nothing.

    The priors are so large that tokens do not attract each other: 5.1e7 draws give them 12.0 together on average, and
    with a probability of 5.9e-6 none. The count of topic 1 passes 2^24, where single precision stops to count.
    """
    n, n_components, n_sweeps, rare = 17_000_000, 66, 3, [17, 33, 49, 65]
    alpha = np.full(n_components, 1e-6)
    alpha[1], alpha[rare] = 1e10, 590
    priors = Priors.make(alpha, 1e12, n_components, 1)
    # The second document is empty; a single one would share alpha with all.
    corpus = Corpus(np.zeros(n, np.int32), np.array([0, n, n]), 1)
    drawn = 0
    for seed in range(n_sweeps):
        chain = make_chain(corpus, priors, np.zeros(n, np.int32), seed, kind)
        chain.sweep()
        found = np.bincount(chain.topics, minlength=n_components)
        assert found[1] > 2**24
        np.testing.assert_array_equal(chain.word_topic_counts[0, :n_components], found)
        np.testing.assert_array_equal(chain.topic_totals, found)
        drawn += found[rare].sum()
    expected = n * n_sweeps * len(rare) * 590 / 1e10
    assert poisson_p(drawn, expected) > ALARM
    # In single precision they would never be drawn.
    assert poisson_p(0, expected) < ALARM


@pytest.mark.mutation
def test_gamma_variates():
    """Of shapes on both sides of 1, against the quantiles; those below e^-60 are zero."""
    n, shapes = 40_000, np.array([0.01, 0.1, 0.5, 0.95, 1, 1.5, 30])
    word_topic, sums = np.empty((n, 16), np.float32), np.empty(len(shapes))
    prior = np.zeros((n, 16), np.float32)
    prior[:, : len(shapes)] = shapes
    counts = np.zeros((n, 16), np.uint16), np.zeros((0, 16), np.int32), np.zeros(0, np.int32)
    _dirichlet.draw_words(0, n, *counts, np.empty(0), prior, 7, word_topic, sums)
    np.testing.assert_allclose(sums, word_topic[:, : len(shapes)].sum(axis=0, dtype=float), rtol=1e-6)
    for variates, shape in zip(word_topic.T, shapes, strict=False):
        cells = np.linspace(gamma.cdf(np.exp(-60), shape), 1, 41)
        seen = np.bincount(np.searchsorted(cells, gamma.cdf(variates, shape)), minlength=41)
        assert chi_square_p(seen, np.diff(cells, prepend=0)) > ALARM
        wrong = np.bincount(np.searchsorted(cells, gamma.cdf(1.05 * variates, shape)), minlength=41)
        assert chi_square_p(wrong, np.diff(cells, prepend=0)) < ALARM or shape < 0.9


@pytest.mark.mutation
def test_an_empty_topic_is_drawn_in_logarithms():
    """With sum(eta) = .003 all gamma variates of an empty topic vanish in most draws; its phi is one of its prior."""
    priors = Priors.make(1.0, 0.001, 2, 3)
    chain = make_chain(make_corpus([[0, 1, 2, 2]], 3), priors, np.zeros(4), kind=GroupedChain)
    seen = np.zeros(3)
    for seed in range(2000):
        word_topic, prior_sums = chain._draw_topics(seed, np.random.SeedSequence(seed))
        np.testing.assert_allclose(word_topic[:, :2].sum(axis=0), 2.0**60, rtol=1e-6)
        np.testing.assert_allclose(prior_sums[:, 0], word_topic.sum(axis=1, dtype=float), rtol=1e-6)
        assert (word_topic[:, 0] > 0).all()
        seen[word_topic[:, 1].argmax()] += 1
    assert chi_square_p(seen, np.full(3, 1 / 3)) > ALARM
    assert chi_square_p(seen, np.array([0.4, 0.3, 0.3])) < ALARM


# n_jobs, blocks, shapes


ESTIMATORS = {
    "symmetric": {},
    "vectors": {"doc_topic_prior": np.linspace(0.1, 2, 60), "topic_word_prior": np.linspace(0.1, 1, 60)},
    "matrix": {"topic_word_prior": np.random.default_rng(0).uniform(0.1, 1, (60, 60))},
}
BLOCK_SAMPLERS = ["partitioned", "grouped", "partially_collapsed"]


def make(sampler, **parameters):
    return GibbsLDA(**{"n_components": 60, "max_iter": 6, "random_state": 0, "sampler": sampler, **parameters})


@pytest.mark.parametrize("sampler", BLOCK_SAMPLERS)
@pytest.mark.parametrize("priors", ESTIMATORS)
def test_n_jobs(small_blocks, counts, same_fit, sampler, priors):
    serial = make(sampler, n_jobs=1, **ESTIMATORS[priors]).fit(counts)
    assert serial.sampler_ == sampler
    for n_jobs in (None, 2, 3):
        assert same_fit(make(sampler, n_jobs=n_jobs, **ESTIMATORS[priors]).fit(counts), serial)


@pytest.mark.parametrize("sampler", BLOCK_SAMPLERS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chains_in_parallel(small_blocks, counts, same, sampler, n_jobs):
    alone = make(sampler, n_jobs=2).fit(counts)
    three = make(sampler, n_chains=3, n_jobs=n_jobs).fit(counts)
    assert same(three.log_joint_trace_[:1], alone.log_joint_trace_)
    assert len(np.unique(three.log_joint_trace_[:, -1])) == 3


@pytest.mark.parametrize("sampler", BLOCK_SAMPLERS)
@pytest.mark.parametrize(
    "config",
    [
        # Arrays of more than one byte reach the processes as read-only memory maps. All tests share one pool.
        {"backend": "loky", "n_jobs": 2, "max_nbytes": 1},
        {"backend": "sequential"},
    ],
)
@pytest.mark.parametrize("n_chains", [1, 2])
def test_joblib_backends(request, counts, same_fit, sampler, config, n_chains):
    if n_chains == 1:
        # More blocks than one; whole chains cut their corpus where they are.
        request.getfixturevalue("small_blocks")
    expected = make(sampler, n_chains=n_chains, max_iter=2).fit(counts)
    with joblib.parallel_config(**config):
        assert same_fit(make(sampler, n_chains=n_chains, max_iter=2).fit(counts), expected)


@pytest.mark.parametrize("kind", BLOCK_KINDS)
def test_draws_do_not_depend_on_the_cut_into_documents(kind, counts, monkeypatch):
    corpus, found = Corpus.from_counts(counts), []
    alpha = np.random.default_rng(0).gamma(1, size=(150, 20)) + 0.05
    for doc_prior in (0.3, alpha):
        priors = Priors.make(doc_prior, 0.1, 20, 60, 150)
        for n_tokens in (1, 100, 10**6):
            monkeypatch.setattr(ThreadedChain, "block_tokens", n_tokens)
            chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
            chain.sweep()
            chain.sweep()
            found.append(chain.topics)
    np.testing.assert_array_equal(found[:3], found[:1] * 3)
    np.testing.assert_array_equal(found[3:], found[3:4] * 3)
    assert (found[0] != found[3]).any()


def test_counts_follow_the_topics(small_blocks, kind, counts):
    corpus = Corpus.from_counts(counts)
    chain = kind.initialise_randomly(corpus, Priors.make(0.1, 0.1, 20, 60), np.random.SeedSequence(0))
    for _ in range(5):
        chain.sweep()
    again = GibbsChain(corpus, chain.priors, chain.state())
    np.testing.assert_array_equal(chain.word_topic_counts, again.word_topic_counts)
    np.testing.assert_array_equal(chain.topic_totals, again.topic_totals)
    np.testing.assert_allclose(chain.log_topics(), again.log_topics(), rtol=1e-12)
    np.testing.assert_allclose(chain.log_words(), again.log_words(), rtol=1e-12)


@pytest.mark.parametrize("docs", [[[0]], [[], [0, 0, 1], []], [[1]] * 5], ids=["token", "with empty ones", "repeated"])
@pytest.mark.parametrize("n_components", [1, 16, 17])
def test_corpora_of_hardly_anything(kind, docs, n_components):
    chain = make_chain(
        make_corpus(docs, 2), Priors.make(0.001, 0.001, n_components, 2), np.zeros(sum(map(len, docs))), kind=kind
    )
    for _ in range(20):
        chain.sweep()
    assert np.isfinite(chain.log_joint())
    assert chain.word_topic_counts.sum() == chain.corpus.n_tokens
    assert (chain.word_topic_counts >= 0).all()
    assert ((chain.topics >= 0) & (chain.topics < n_components)).all()


def test_samplers_may_take_turns(counts):
    lda = make("grouped", warm_start=True, n_components=5).fit(counts)
    trace = lda.log_joint_trace_[0]
    for sampler, kernel in (("collapsed", "dense"), ("partitioned",) * 2, ("partially_collapsed",) * 2):
        lda.set_params(sampler=sampler).fit(counts)
        assert lda.sampler_ == kernel
        assert lda.log_joint_trace_.shape[1] == len(trace) + 6
        np.testing.assert_array_equal(lda.log_joint_trace_[0, : len(trace)], trace)
        trace = lda.log_joint_trace_[0]


def test_a_stopped_sweep_changes_nothing(small_blocks, counts, same):
    corpus, priors = Corpus.from_counts(counts), Priors.make(0.1, 0.1, 5, 60)
    for kind in BLOCK_KINDS:
        chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
        before, stop = chain.state(), StopAtLook(3)
        # Something goes wrong elsewhere, while this chain is at its third block.
        with pytest.raises(Stopped):
            chain.sweep(stop)
        assert same(chain.state(), before)
