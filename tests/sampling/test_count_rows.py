"""Rows of 16 and of 32 bits, and all vector instructions, give the same draws and the same log joint."""

import numpy as np
import pytest
from enumeration import make_corpus

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._kernels import _collapsed
from sklda._sampling import count_rows
from sklda._sampling.blocked import GroupedChain
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.count_rows import CountRows
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.prior_path import PriorPath
from sklda._sampling.steps import advance
from sklda.papers.empirical_bayes._grid import Grid, continue_on_grid

V = 40
CHAINS = [GibbsChain, PartitionedChain, GroupedChain, PartiallyCollapsedChain]


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    return make_corpus([rng.integers(rng.integers(1, V), size=n) for n in rng.integers(120, size=30)], V)


def priors_of(kind, n_components):
    rng = np.random.default_rng(1)
    eta = {"symmetric": 0.1, "eta per topic and word": rng.gamma(1, size=(n_components, V)) + 0.01}[kind]
    return Priors.make(rng.gamma(1, size=n_components) + 0.01, eta, n_components, V)


def results(chain, n_sweeps=5):
    log_joints = []
    for _ in range(n_sweeps):
        chain.sweep()
        log_joints.append(chain.log_joint())
    return chain.topics, chain.word_topic_counts, chain.topic_totals, chain.word_histogram(), np.array(log_joints)


def assert_same(ours, theirs):
    *exact, log_joints = zip(ours, theirs, strict=True)
    for each in exact:
        np.testing.assert_array_equal(*each)
    # The words with long rows are added last.
    np.testing.assert_allclose(*log_joints, rtol=1e-12)


@pytest.mark.parametrize("largest", [-1, 60], ids=["all rows long", "some rows long"])
@pytest.mark.parametrize("kind", ["symmetric", "eta per topic and word"])
@pytest.mark.parametrize("chain", CHAINS)
def test_the_length_of_rows_changes_no_draw(chain, kind, largest, corpus, monkeypatch):
    priors, seed = priors_of(kind, 20), np.random.SeedSequence(2)
    ours = results(chain.initialise_randomly(corpus, priors, seed))
    monkeypatch.setattr(count_rows, "_LARGEST_SHORT", largest)
    other = chain.initialise_randomly(corpus, priors, seed)
    n_long = len(other.rows.arrays[1])
    assert n_long == V if largest < 0 else 0 < n_long < V
    assert_same(ours, results(other))


@pytest.mark.parametrize("largest", [-1, 60], ids=["all rows long", "some rows long"])
def test_the_length_of_rows_changes_no_tempered_chain_and_no_path(largest, corpus, monkeypatch):
    priors = Priors.make(0.3, 0.2, 4, V)

    def draws():
        start = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
        tempered = GibbsChain(start.corpus, start.priors, start.state())
        continue_on_grid(tempered, Grid(corpus, 4, [0.1, 0.4], [0.2, 0.5]), np.random.default_rng(0))
        log_joints = []
        for _ in range(5):
            advance(tempered, tempered.steps)
            log_joints.append(tempered.log_joint())
        slope = np.full((V, 4), 0.5)
        slopes = np.full((1, 4), 0.5), np.empty(0, np.int32), np.empty(0), slope
        weight = start.anneal(PriorPath(priors, *slopes, np.array([1.0, 0.5, 0])))
        return tempered.topics, start.topics, np.array([*log_joints, weight])

    ours = draws()
    monkeypatch.setattr(count_rows, "_LARGEST_SHORT", largest)
    assert_same(ours, draws())


@pytest.mark.parametrize("kind", ["symmetric", "eta per topic and word"])
@pytest.mark.parametrize("n_components", [3, 20, 130, 300])
@pytest.mark.parametrize("largest", [2**16 - 1, 60], ids=["short rows", "some rows long"])
def test_draws_are_the_same_in_all_vectors(largest, n_components, kind, corpus, monkeypatch):
    monkeypatch.setattr(count_rows, "_LARGEST_SHORT", largest)
    found = []
    for vectors in range(_collapsed.vectors() + 1):
        chain = GibbsChain.initialise_randomly(corpus, priors_of(kind, n_components), np.random.SeedSequence(0))
        chain._vectors = vectors
        found.append(results(chain))
    for other in found[1:]:
        assert_same(found[0], other)


def test_the_border():
    """A word of 65,535 tokens has a short row, and a word of 65,536 a long one; each can have them all in one topic."""
    n = 2**16
    corpus = Corpus(
        np.repeat([0, 1, 0], [n - 1, n - 1, 1]).astype(np.int32), np.array([0, n - 1, 2 * n - 2, 2 * n - 1]), 2
    )
    assert np.bincount(corpus.words).tolist() == [n, n - 1]
    totals = np.zeros(2, np.int64)
    rows = CountRows.of(corpus, np.zeros(2 * n - 1, np.int32), 16, totals)
    assert rows.long_words.tolist() == [0]
    assert rows.dense()[:, 0].tolist() == [n, n - 1]
    assert rows.histogram()[[n - 1, n]].tolist() == [1, 1]


def test_sweeps_across_the_border(monkeypatch):
    """The chain begins with all tokens in one topic, leaves it, and comes back because alpha prefers it."""
    n = 2**16
    corpus = Corpus(np.repeat([0, 1], [n, n - 1]).astype(np.int32), np.array([0, n, 2 * n - 1]), 2)
    priors = Priors.make([1e4, 1e-3], 0.1, 2, 2)

    def run():
        chain = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
        chain.topics[:] = 0
        chain.recount()
        return results(chain, 4)

    ours = run()
    assert ours[1][:, 0].min() > n - 100
    monkeypatch.setattr(count_rows, "_LARGEST_SHORT", -1)
    assert_same(ours, run())
