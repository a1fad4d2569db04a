"""The partition of documents and words among workers, and the acceptance of steps."""

from types import SimpleNamespace

import numpy as np
import pytest
from enumeration import Enumeration, chi_square_p, make_chain
from interrupts import StopAtLook

from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP, Stopped
from sklda._core.priors import Priors
from sklda._sampling import partitioned
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.partitioned import PartitionedChain, ThreadChoice

ALARM = 1e-5


@pytest.fixture(autouse=True)
def four_workers(monkeypatch):
    """As in a large corpus."""
    monkeypatch.setattr(partitioned, "_LEAST_WORKERS", 4)


def long_steps_p(truth, priors, n_draws=2500):
    """p-value of the number of tokens of a topic, which couples the workers, after sweeps of one step a turn."""
    starts = truth.states[np.random.default_rng(0).choice(len(truth.states), size=n_draws, p=truth.posterior)]
    chain, totals = make_chain(truth.corpus, priors, starts[0], kind=PartitionedChain), []
    for start in starts:
        chain._set_up(start)
        for _ in range(3):
            chain.sweep()
        totals.append(np.count_nonzero(chain.topics == 0))
    assert [edges.shape for edges in chain._edges] == [(2, 2)] * 2
    expected = np.bincount((truth.states == 0).sum(axis=1), weights=truth.posterior, minlength=9)
    return chi_square_p(np.bincount(totals, minlength=9), expected)


@pytest.mark.mutation
def test_two_workers_in_one_long_step_keep_the_posterior(monkeypatch):
    """If a worker's guess at the topics of the others used tokens that these draw themselves, p would be 3e-8."""
    monkeypatch.setattr(partitioned, "_LEAST_WORKERS", 2)
    monkeypatch.setattr(partitioned, "_LEAST_STEP", 100)
    truth = Enumeration([[0, 0, 1, 1], [0, 0, 1, 1]], 2, 2, np.full(2, 5.0), np.full((2, 2), 0.3))
    assert long_steps_p(truth, truth.priors) > ALARM
    assert long_steps_p(truth, Priors.make(5.0, 0.15, 2, 2), n_draws=1500) < ALARM


@pytest.mark.parametrize("last", [1, -1])
def test_a_thread_that_does_not_run_holds_up_no_sweep(counts, last, monkeypatch):
    """One of three threads does everything before the others begin."""
    monkeypatch.setattr(partitioned, "_LEAST_STEP", 0.3)
    monkeypatch.setattr(partitioned, "run_tasks", lambda team, run, tasks: [run(*task) for task in [*tasks][::last]])
    corpus = Corpus.from_counts(counts)
    alone, with_idle = (
        PartitionedChain.initialise_randomly(corpus, Priors.make(0.05, 0.1, 300, 60), np.random.SeedSequence(0))
        for _ in range(2)
    )
    with_idle._team = SimpleNamespace(n_threads=3, stop=NEVER_STOP)
    for chain in (alone, with_idle):
        for _ in range(3):
            chain.sweep()
    np.testing.assert_array_equal(with_idle.topics, alone.topics)
    assert with_idle.acceptance_rate == alone.acceptance_rate
    other = PartitionedChain(corpus, chain.priors, chain.state())
    other._vectors = chain._vectors
    for each in (chain, other):
        each.sweep()
    np.testing.assert_array_equal(chain.topics, other.topics)


def test_workers_share_neither_documents_nor_words(counts, monkeypatch):
    """In its turns, a sweep draws every token once."""
    monkeypatch.setattr(partitioned, "_LEAST_STEP", 0.2)
    corpus = Corpus.from_counts(counts)
    chain = PartitionedChain.initialise_randomly(corpus, Priors.make(0.1, 0.1, 5, 60), np.random.SeedSequence(0))
    n_workers, met = chain._n_workers, np.zeros(corpus.n_tokens, int)
    assert n_workers == 4
    for turn, edges in enumerate(chain._edges):
        assert edges.shape[1] > 5
        for step in zip(edges[:, :-1].T, edges[:, 1:].T, strict=True):
            words = []
            for worker, (first, last) in enumerate(zip(*step, strict=True)):
                part = (worker + turn) % n_workers
                own = [np.arange(*chain._cuts[d, part : part + 2]) for d in range(first, last)]
                own = np.concatenate([np.empty(0, int), *own])
                met[own] += 1
                words.append(set(corpus.words[own]))
            assert len(set.union(*words)) == sum(map(len, words))
            firsts, lasts = np.sort(step, axis=1)
            assert (firsts[1:] >= lasts[:-1]).all()
    assert (met == 1).all()


@pytest.mark.parametrize("n_components", [2, 40])
@pytest.mark.parametrize("step", [0.3, 1.0])
def test_most_steps_are_accepted_and_some_are_not(counts, monkeypatch, n_components, step):
    monkeypatch.setattr(partitioned, "_LEAST_STEP", step)
    corpus = Corpus.from_counts(counts)
    chain = PartitionedChain.initialise_randomly(
        corpus, Priors.make(0.1, 0.1, n_components, 60), np.random.SeedSequence(0)
    )
    accepted = []
    for _ in range(30):
        chain.sweep()
        accepted.append(chain.acceptance_rate)
    assert 0.5 < np.mean(accepted) < 1


def test_a_partitioned_sweep_may_end_between_turns(counts):
    corpus, priors = Corpus.from_counts(counts), Priors.make(0.1, 0.1, 5, 60)
    chain = PartitionedChain.initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    with pytest.raises(Stopped):
        chain.sweep(StopAtLook(3))
    assert chain.n_sweeps == 0
    again = GibbsChain(corpus, priors, chain.state())
    np.testing.assert_array_equal(chain.word_topic_counts, again.word_topic_counts)
    np.testing.assert_array_equal(chain.topic_totals, again.topic_totals)


def play(choice, n_sweeps, *, one, four):
    """The numbers of threads of sweeps that take these times with one and with four threads."""
    found = []
    for _ in range(n_sweeps):
        found.append(choice.n_threads(4))
        choice.add(found[-1], one if found[-1] == 1 else four)
    return found


def test_sweeps_use_one_thread_or_all_whichever_is_faster():
    choice = ThreadChoice()
    assert play(choice, 7, one=1.8, four=1.0) == [4, 4, 1, 4, 1, 4, 1]
    # One sweep in thirty-two tries the other way.
    assert play(choice, 64, one=1.8, four=1.0).count(1) == 2
    # When another program begins, this is seen after two sweeps; when it ends, after two trials.
    busy = play(choice, 64, one=1.8, four=2.5)
    assert busy[:3] == [4, 4, 1]
    assert busy.count(4) == 4
    assert play(choice, 96, one=1.8, four=1.0)[64:].count(1) == 1
    # One sweep that was held up changes nothing.
    choice.add(4, 60.0)
    assert choice.n_threads(4) == 4


def test_a_chain_times_its_sweeps_with_one_thread_and_with_all(counts, monkeypatch):
    used, run = [], partitioned.run_tasks

    def counted(team, kernel, tasks):
        tasks = list(tasks)
        used.append(len(tasks))
        return run(team, kernel, tasks)

    monkeypatch.setattr(partitioned, "run_tasks", counted)
    corpus = Corpus.from_counts(counts)
    chain = PartitionedChain.initialise_randomly(corpus, Priors.make(0.05, 0.1, 300, 60), np.random.SeedSequence(0))
    chain.with_workers(2, lambda stop: [chain.sweep(stop) for _ in range(8)])
    assert set(used) == {1, 2}
