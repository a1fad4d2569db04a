"""Geweke's joint distribution test: z and w drawn from the model, against sweeps and new words in turn.

Both ways have the joint p(z, w) as their target if the sweep leaves p(z | w) invariant (Geweke 2004). Means of
statistics with and without labels are compared; the successive side's errors come from batch means.
"""

import numpy as np
import pytest
from enumeration import make_chain
from scipy.stats import norm

from sklda._inference.corpus import Corpus
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.grouped import GroupedChain
from sklda._inference.sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._inference.sampling.partitioned import PartitionedChain
from sklda._inference.sampling.word_major import WordMajorChain

KINDS = [GibbsChain, WordMajorChain, PartitionedChain, GroupedChain, PartiallyCollapsedChain]

LENGTHS, V, K = np.array([6, 0, 4, 5]), 5, 3
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
N_DRAWS, N_BATCHES, ALARM = 12_000, 60, 1e-6
PRIORS = {
    "symmetric": (0.3, 0.4),
    "alpha per topic, eta per word": (np.array([0.2, 0.7, 1.1]), np.array([0.1, 0.9, 0.4, 0.3, 0.6])),
    "eta per topic and word": (0.3, np.random.default_rng(0).gamma(1, size=(K, V)) + 0.05),
    "alpha per document": (np.random.default_rng(1).gamma(1, size=(len(LENGTHS), K)) + 0.05, 0.4),
}


def draw_topics(rng, alpha):
    theta = [rng.dirichlet(a) for a in alpha]
    return np.concatenate([rng.choice(K, size=n, p=p) for n, p in zip(LENGTHS, theta, strict=True)]).astype(np.int32)


def draw_words(rng, topics, eta):
    phi = np.array([rng.dirichlet(row) for row in eta])
    return (rng.random((len(topics), 1)) > phi[topics].cumsum(axis=1)[:, :-1]).sum(axis=1).astype(np.int32)


def statistics(topics, words):
    n_dk = np.array([np.bincount(part, minlength=K) for part in np.split(topics, OFFSETS[1:-1])])
    m_kv = np.bincount(topics * V + words, minlength=K * V).reshape(K, V)
    return np.concatenate(
        [
            [(n_dk**2).sum(), (m_kv**2).sum(), (m_kv.sum(axis=1) ** 2).sum(), topics[0] == topics[-1]],
            n_dk[0],
            m_kv.sum(axis=1),
            m_kv[0],
            m_kv[1] ** 2,
        ]
    )


def smallest_p(alpha, eta, priors=None, break_it=lambda chain: None, kind=GibbsChain):
    """Smallest two-sided p-value over the statistics, times their number."""
    rng = np.random.default_rng(0)
    wide_alpha, wide_eta = np.broadcast_to(alpha, (len(LENGTHS), K)), np.broadcast_to(eta, (K, V))
    priors = priors or Priors.make(alpha, eta, K, V, len(LENGTHS))
    direct, successive = [], []
    topics = draw_topics(rng, wide_alpha)
    words = draw_words(rng, topics, wide_eta)
    for seed in range(N_DRAWS):
        z = draw_topics(rng, wide_alpha)
        direct.append(statistics(z, draw_words(rng, z, wide_eta)))
        chain = make_chain(Corpus(words, OFFSETS, V), priors, topics, seed, kind)
        break_it(chain)
        chain.sweep()
        topics = chain.topics
        words = draw_words(rng, topics, wide_eta)
        successive.append(statistics(topics, words))
    direct, successive = np.array(direct), np.array(successive)
    batches = successive.reshape(N_BATCHES, -1, successive.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / N_DRAWS + batches.var(axis=0, ddof=1) / N_BATCHES)
    z = (direct.mean(axis=0) - successive.mean(axis=0)) / error
    return 2 * norm.sf(np.abs(z)).min() * len(z)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
def test_sweeps_and_new_words_keep_the_joint_distribution(alpha, eta, kind):
    if kind is WordMajorChain and max(np.ndim(alpha), np.ndim(eta)) == 2:
        pytest.skip("not for these priors")
    assert smallest_p(alpha, eta, kind=kind) > ALARM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["alpha", "eta", "counts"])
def test_a_broken_sweep_is_found(wrong, kind):
    def break_it(chain):
        if wrong == "counts":
            # Which of the two a kernel looks at depends on the sampler.
            chain.topic_totals += 5
            chain.word_topic_counts[0, 0] += 5

    priors = Priors.make(0.3 * (1 + (wrong == "alpha")), 0.4 * (1 + 2 * (wrong == "eta")), K, V)
    assert smallest_p(0.3, 0.4, priors, break_it, kind) < ALARM
