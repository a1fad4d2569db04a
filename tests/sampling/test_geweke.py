"""Geweke's joint distribution test: z and w drawn from the model, against sweeps and new words in turn.

Both ways have the joint p(z, w) as their target if the sweep leaves p(z | w) invariant (Geweke 2004). Means of
statistics with and without labels are compared; the successive side's errors come from batch means.
"""

from functools import cache

import numpy as np
import pytest
from enumeration import make_chain
from scipy.stats import norm

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.blocked import GroupedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.word_major import WordMajorChain

# Many draws of the same shapes.
pytestmark = pytest.mark.slow


class ListChain(WordMajorChain):
    """All documents are lists."""

    least_for_row = np.inf


KINDS = [GibbsChain, WordMajorChain, ListChain, PartitionedChain, GroupedChain, PartiallyCollapsedChain]

LENGTHS, V, K = np.array([6, 0, 4, 5]), 5, 3
D, N = len(LENGTHS), LENGTHS.sum()
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
DOCUMENTS = np.repeat(np.arange(D), LENGTHS)
# The direct side costs little: its draws are this many that its error is small beside that of the successive side.
N_DIRECT, N_DRAWS, N_BATCHES, ALARM = 100_000, 3_000, 50, 1e-6
PRIORS = {
    "symmetric": (0.3, 0.4),
    "alpha per topic, eta per word": (np.array([0.2, 0.7, 1.1]), np.array([0.1, 0.9, 0.4, 0.3, 0.6])),
    "eta per topic and word": (0.3, np.random.default_rng(0).gamma(1, size=(K, V)) + 0.05),
    "alpha per document": (np.random.default_rng(1).gamma(1, size=(D, K)) + 0.05, 0.4),
}


def running_dirichlets(rng, prior, shape, n):
    """Running sums over the last axis of `n` draws from the Dirichlets of a matrix of parameters."""
    variates = rng.standard_gamma(np.broadcast_to(prior, (n, *shape)))
    return (variates / variates.sum(axis=-1, keepdims=True)).cumsum(axis=-1)


def choose(running, uniforms):
    """One of the last axis' cells for each uniform variate."""
    return (uniforms[..., None] > running[..., :-1]).sum(axis=-1).astype(np.int32)


def sort_words(rng, topics, words):
    """The words of every document in ascending order, as a corpus has them, equal ones in random order."""
    order = np.argsort(DOCUMENTS * V + words + rng.random(words.shape), axis=-1)
    return np.take_along_axis(topics, order, axis=-1), np.take_along_axis(words, order, axis=-1)


def statistics(topics, words):
    """Of draws of z and w (n_draws, N), the statistics (n_draws, n_statistics)."""
    in_topic = (topics[:, :, None] == np.arange(K)).astype(float)
    in_word = (words[:, :, None] == np.arange(V)).astype(float)
    n_dk = np.moveaxis(in_topic, 1, 2) @ (DOCUMENTS[:, None] == np.arange(D))
    m_kv = np.moveaxis(in_topic, 1, 2) @ in_word
    m_k = m_kv.sum(axis=2)
    return np.column_stack(
        [
            (n_dk**2).sum(axis=(1, 2)),
            (m_kv**2).sum(axis=(1, 2)),
            (m_k**2).sum(axis=1),
            topics[:, 0] == topics[:, -1],
            n_dk[:, :, 0],
            m_k,
            m_kv[:, 0],
            m_kv[:, 1] ** 2,
        ]
    )


def draw_joint(rng, name, n):
    """`n` draws of z and w from the model."""
    alpha, eta = PRIORS[name]
    topics = choose(running_dirichlets(rng, alpha, (D, K), n)[:, DOCUMENTS], rng.random((n, N)))
    running = running_dirichlets(rng, eta, (K, V), n)
    words = choose(np.take_along_axis(running, topics[:, :, None], axis=1), rng.random((n, N)))
    return sort_words(rng, topics, words)


@cache
def direct_moments(name):
    """Mean and variance of the statistics of independent draws."""
    values = statistics(*draw_joint(np.random.default_rng(1), name, N_DIRECT))
    return values.mean(axis=0), values.var(axis=0)


def smallest_p(name, priors=None, break_it=lambda chain: None, kind=GibbsChain, share=1):
    """Smallest two-sided p-value over the statistics, times their number."""
    rng = np.random.default_rng(0)
    alpha, eta = PRIORS[name]
    topics, words = (each[0] for each in draw_joint(rng, name, 1))
    corpus = Corpus(words, OFFSETS, V)
    chain = make_chain(corpus, priors or Priors.make(alpha, eta, K, V, D), topics, 0, kind)
    # Draws of the grouped sampler depend on each other for longer, and short batches would hide it.
    drawn, n = [], (3 if kind is GroupedChain else 1) * N_DRAWS // share
    for running, uniforms in zip(running_dirichlets(rng, eta, (K, V), n), rng.random((n, N)), strict=True):
        topics, corpus.words[:] = sort_words(rng, topics, choose(running[topics], uniforms))
        chain._set_up(topics)
        break_it(chain)
        chain.sweep()
        topics = chain.topics
        drawn.append((topics, corpus.words.copy()))
    successive = statistics(*map(np.array, zip(*drawn, strict=True)))
    mean, variance = direct_moments(name)
    batches = successive.reshape(N_BATCHES, -1, successive.shape[1]).mean(axis=1)
    error = np.sqrt(variance / N_DIRECT + batches.var(axis=0, ddof=1) / N_BATCHES)
    z = (mean - successive.mean(axis=0)) / error
    return 2 * norm.sf(np.abs(z)).min() * len(z)


# Exact transitions are tested for every shape of priors, so the suite takes one of them for each sampler.
CASES = [
    pytest.param(name, kind, marks=() if n == i % len(PRIORS) and kind is not ListChain else pytest.mark.exhaustive)
    for i, kind in enumerate(KINDS)
    for n, name in enumerate(PRIORS)
]
BROKEN = [
    pytest.param(wrong, kind, marks=() if wrong == "counts" and kind is not ListChain else pytest.mark.exhaustive)
    for wrong in ("alpha", "eta", "counts")
    for kind in KINDS
]


@pytest.mark.mutation("test_a_broken_sweep_is_found")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_sweeps_and_new_words_keep_the_joint_distribution(name, kind):
    assert smallest_p(name, kind=kind) > ALARM


@pytest.mark.parametrize(("wrong", "kind"), BROKEN)
def test_a_broken_sweep_is_found(wrong, kind):
    def break_it(chain):
        if wrong == "counts":
            # Which of the two a kernel looks at depends on the sampler.
            chain.topic_totals += 5
            if isinstance(chain, WordMajorChain):
                return
            chain.rows.arrays[0][0, 0] += 5

    priors = Priors.make(0.3 * (1 + (wrong == "alpha")), 0.4 * (1 + 2 * (wrong == "eta")), K, V)
    # Wrong counts are found by a quarter of the draws, except where they change one total.
    share = 4 if wrong == "counts" and kind is not PartiallyCollapsedChain else 1
    assert smallest_p("symmetric", priors, break_it, kind, share) < ALARM
