"""Geweke's joint distribution test of the sampler of labelled LDA: see sampling/test_geweke.py."""

from functools import cache

import numpy as np
import pytest
from label_cases import indicator
from scipy.stats import norm

from sklda._core.corpus import Corpus
from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.open_topics import LabelPriors, OpenTopics
from sklda._sampling.chain import ChainState

# Many draws of the same shapes.
pytestmark = pytest.mark.slow

LENGTHS, V, LABELS, N_SHARED = np.array([6, 3, 4, 5]), 5, [[0, 1], [1], [0, 1], [0]], 1
D, N, K = len(LENGTHS), LENGTHS.sum(), 3
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
DOCUMENTS = np.repeat(np.arange(D), LENGTHS)
ALPHA, ETA = np.array([0.3, 0.7, 0.5]), np.array([0.2, 0.9, 0.4, 0.3, 0.6])
N_DIRECT, N_DRAWS, N_BATCHES, ALARM = 100_000, 3_000, 50, 1e-6
OPEN = np.array([[k in row or k >= 2 for k in range(K)] for row in LABELS])


def draw_words(rng, topics, eta):
    variates = rng.standard_gamma(np.broadcast_to(eta, (len(topics), K, V)))
    running = (variates / variates.sum(axis=2, keepdims=True)).cumsum(axis=2)
    own = np.take_along_axis(running, topics[:, :, None], axis=1)
    words = (rng.random((len(topics), N, 1)) > own[:, :, :-1]).sum(axis=2).astype(np.int32)
    order = np.argsort(DOCUMENTS * V + words + rng.random(words.shape), axis=1)
    return np.take_along_axis(topics, order, axis=1), np.take_along_axis(words, order, axis=1)


def draw_joint(rng, n):
    variates = rng.standard_gamma(np.broadcast_to(ALPHA, (n, D, K))) * OPEN
    running = (variates / variates.sum(axis=2, keepdims=True)).cumsum(axis=2)[:, DOCUMENTS]
    topics = (rng.random((n, N, 1)) > running[:, :, :-1]).sum(axis=2)
    return draw_words(rng, topics, ETA)


def statistics(topics, words):
    in_topic = (topics[:, :, None] == np.arange(K)).astype(float)
    n_dk = np.moveaxis(in_topic, 1, 2) @ (DOCUMENTS[:, None] == np.arange(D))
    m_kv = np.moveaxis(in_topic, 1, 2) @ (words[:, :, None] == np.arange(V))
    m_k = m_kv.sum(axis=2)
    squares = [(each**2).reshape(len(each), -1).sum(axis=1) for each in (n_dk, m_kv, m_k)]
    return np.column_stack([*squares, n_dk[:, :, 0], m_k, m_kv[:, 0], m_kv[:, 1] ** 2])


@cache
def direct_statistics():
    """Those of draws from the joint distribution."""
    return statistics(*draw_joint(np.random.default_rng(1), N_DIRECT))


def smallest_p(alpha=ALPHA, eta=ETA, break_it=lambda chain: None):
    """Smallest two-sided p-value over the statistics, times their number."""
    direct, rng = direct_statistics(), np.random.default_rng(0)
    topics, words = (each[0] for each in draw_joint(rng, 1))
    labels, stream, drawn = indicator(LABELS, 2), np.random.SeedSequence(0).generate_state(4, np.uint64), []
    for _ in range(N_DRAWS):
        topics, words = (each[0] for each in draw_words(rng, topics[None], ETA))
        corpus = Corpus(words, OFFSETS, V)
        opened = OpenTopics.make(corpus, labels, N_SHARED)
        places = np.cumsum(OPEN, axis=1)[DOCUMENTS, topics] - 1
        chain = LabelChain(corpus, LabelPriors.make(alpha, eta, opened), ChainState(places, stream))
        break_it(chain)
        chain.sweep()
        topics, stream = chain.token_topics(), chain.stream
        drawn.append((topics, words))
    successive = statistics(*map(np.array, zip(*drawn, strict=True)))
    batches = successive.reshape(N_BATCHES, -1, successive.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / N_DIRECT + batches.var(axis=0, ddof=1) / N_BATCHES)
    moves = error > 0
    z = (direct.mean(axis=0) - successive.mean(axis=0))[moves] / error[moves]
    return 2 * norm.sf(np.abs(z)).min() * len(z)


@pytest.mark.mutation("test_a_broken_sweep_is_found")
def test_sweeps_and_new_words_keep_the_joint_distribution():
    assert smallest_p() > ALARM


@pytest.mark.parametrize(
    "wrong", ["counts", *(pytest.param(each, marks=pytest.mark.exhaustive) for each in ("alpha", "eta"))]
)
def test_a_broken_sweep_is_found(wrong):
    def break_it(chain):
        if wrong == "counts":
            chain.topic_totals[0] += 5

    assert smallest_p(ALPHA * (1 + (wrong == "alpha")), ETA * (1 + 2 * (wrong == "eta")), break_it) < ALARM
