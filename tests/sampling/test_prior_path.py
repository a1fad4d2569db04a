"""Sweeps while the priors move: the kernel against sweeps, changes of the priors and log joints one at a time."""

import itertools
import time
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP, Stop, Stopped
from sklda._core.priors import Priors
from sklda._likelihood.evidence.annealing import Guide, _diluting_path
from sklda._sampling import collapsed
from sklda._sampling.annealed_start import annealed_chain
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_path import PriorPath

# Topics, more than the lanes of the kernel.
K = 20
PRIORS = {
    "numbers": (0.3, 0.2),
    "alpha per topic": (np.linspace(0.1, 2, K), 0.2),
    "alpha per document": (np.linspace(0.1, 2, 150)[:, None] * np.linspace(1, 2, K), 0.2),
    "eta per word": (0.3, np.linspace(0.1, 1, 60)),
    "eta per topic and word": (0.3, np.linspace(0.1, 1, K)[:, None] * np.linspace(1, 2, 60)),
    "very small": (1e-12, 1e-12),
    "very large": (1e12, 1e12),
}


def one_at_a_time(chain, path, stop=NEVER_STOP, *, weigh=True):
    """`GibbsChain.anneal` without its kernel."""
    log_weight = 0.0
    for before, after in itertools.pairwise(map(path.priors_at, path.positions)):
        chain.priors = before
        chain.sweep(stop)
        log_weight -= chain.log_joint()
        chain.priors = after
        log_weight += chain.log_joint()
    return log_weight


@pytest.fixture
def corpus(counts):
    # Counts from one token to more than the longest product.
    return Corpus.from_counts(sp.vstack([counts[:-1], 30 * counts[-2:-1]]).tocsr())


def paths(corpus, priors):
    chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(1))
    guide = Guide.from_chain(chain)
    return {
        "guide": guide.path(guide.strengths(12)),
        "from the prior": _diluting_path(priors, np.geomspace(1e4, 1, 12)),
        "multiples": PriorPath.multiples(priors, np.geomspace(10, 1, 12)),
    }


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("kind", ["guide", "from the prior", "multiples"])
@pytest.mark.parametrize("block", [collapsed.BLOCK_WEIGHTS, 1], ids=["one call", "a call for each sweep"])
def test_the_kernel_makes_the_same_draws_and_weights(corpus, name, kind, block, monkeypatch):
    monkeypatch.setattr(collapsed, "BLOCK_WEIGHTS", block)
    path = paths(corpus, Priors.make(*PRIORS[name], K, 60, 150))[kind]
    start = GibbsChain.initialise_randomly(corpus, path.priors_at(path.positions[0]), random.seed_sequence(0))
    chain, other = (GibbsChain(corpus, start.priors, start.state()) for _ in range(2))
    log_weight, expected = chain.anneal(path), one_at_a_time(other, path)
    np.testing.assert_array_equal(chain.topics, other.topics)
    np.testing.assert_array_equal(chain.word_topic_counts, other.word_topic_counts)
    np.testing.assert_array_equal(chain.topic_totals, other.topic_totals)
    np.testing.assert_array_equal(chain.stream, other.stream)
    assert chain.n_sweeps == other.n_sweeps == 11
    assert chain.priors.equal(path.priors_at(path.positions[-1]))
    # The log joints are sums of up to a million nats for each path.
    scale = max(abs(GibbsChain(corpus, path.priors_at(s), chain.state()).log_joint()) for s in path.positions)
    assert log_weight == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)
    assert abs(expected) > 1e-9 * scale or name.startswith("very")
    # Without the weight, the same draws.
    again = GibbsChain(corpus, start.priors, start.state())
    assert again.anneal(path, weigh=False) == 0
    np.testing.assert_array_equal(again.topics, other.topics)


def test_an_annealed_chain_ends_at_its_priors(corpus):
    priors = Priors.make(0.3, 0.2, 4, 60)
    chain = annealed_chain(corpus, priors, random.seed_sequence(0), NEVER_STOP, n_sweeps=15)
    assert chain.priors is priors
    assert chain.n_sweeps == 15
    other = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
    for factor in np.geomspace(10, 1, 15):
        other.priors = priors.scaled(factor, factor)
        other.sweep()
    np.testing.assert_array_equal(chain.topics, other.topics)


def test_a_path_of_one_position(corpus):
    priors = Priors.make(0.3, 0.2, 4, 60)
    chain = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0))
    before = chain.topics.copy()
    assert chain.anneal(PriorPath.multiples(priors, [2.0])) == 0
    np.testing.assert_array_equal(chain.topics, before)
    assert chain.priors.doc[0, 0] == 0.6


def test_a_path_of_an_empty_corpus():
    corpus = Corpus(np.empty(0, np.int32), np.zeros(3, np.int64), 5)
    priors = Priors.make(0.3, 0.2, 4, 5)
    chain = GibbsChain(corpus, priors, ChainState(np.empty(0, np.int32), random.stream(random.seed_sequence(0))))
    assert chain.anneal(PriorPath.multiples(priors, np.geomspace(10, 1, 5))) == 0


def test_a_path_stops(corpus):
    """A flag that another thread sets ends a path of an hour."""
    priors = Priors.make(0.3, 0.2, 4, 60)
    chain, stop, ended = GibbsChain.initialise_randomly(corpus, priors, random.seed_sequence(0)), Stop(), []
    path = PriorPath.multiples(priors, np.geomspace(10, 1, 10**7))

    def run():
        try:
            chain.anneal(path, stop)
        except Stopped:
            ended.append(True)

    thread = Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.05)
    stop.flag[0] = 1
    thread.join()
    assert ended == [True]
