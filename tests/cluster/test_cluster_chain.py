"""One chain on a Dask cluster makes the draws of the same chain in one process, whatever happens to the workers."""

import os
import pickle
import signal
import time

import numpy as np
import pytest

from sklda._inference import random
from sklda._inference.cluster.actors import ClusterCorpus, _result_of
from sklda._inference.cluster.chain import ClusterChain
from sklda._inference.cluster.shard import Shard, random_topics
from sklda._inference.cluster.shard_chain import Cells, ShardChain
from sklda._inference.corpus import Corpus
from sklda._inference.gibbs_em import MStep
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import ChainState
from sklda._inference.sampling.draws import doc_topic_std, posterior_means
from sklda._inference.sampling.partially_collapsed import PartiallyCollapsedChain

distributed = pytest.importorskip("distributed")
Actor = distributed.Actor
K, N_SWEEPS, N_DRAWS = 5, 8, 3
SEED = np.random.SeedSequence(3)
PRIORS = {
    "shared": (0.1, 0.05),
    "by topic": (np.linspace(0.05, 0.4, K), 0.05),
    "by topic and word": (0.1, np.random.default_rng(0).uniform(0.01, 0.2, (K, 60))),
}


def priors_of(name):
    return Priors.make(*PRIORS[name], K, 60)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (120, 60))
    counts[17] = 0
    return counts


@pytest.fixture(scope="module", params=PRIORS)
def local(request, X):
    """The chain in this process, after its sweeps."""
    corpus, priors = Corpus.from_counts(X), priors_of(request.param)
    topics = random_topics(corpus.words, 0, priors, random.key(random.child(SEED, 0)))
    chain = PartiallyCollapsedChain(corpus, priors, ChainState(topics, random.stream(random.child(SEED, 1))))
    run(chain)
    chain.name = request.param
    return chain


def run(chain, after_sweep=lambda sweep: None):
    for sweep in range(N_SWEEPS):
        after_sweep(sweep)
        chain.sweep()
        chain.record()
        chain.keep_draw(N_DRAWS)
    return chain


def started(X, priors, client, blocks):
    return ClusterChain(ClusterCorpus(blocks(X, 7), client), priors, SEED)


def topics_of(chain):
    return np.concatenate([part.result() for part in chain.corpus.results("topics")])


@pytest.fixture
def patched(processes):
    """Replaces an attribute of a class in the processes of the workers."""
    done = []

    def replace(owner, name, value):
        setattr(owner, f"{name}_before", getattr(owner, name))
        setattr(owner, name, value)

    def restore(owner, name):
        setattr(owner, name, getattr(owner, f"{name}_before"))

    def patched(owner, name, value):
        done.append((owner, name))
        processes.run(replace, owner, name, value)

    yield patched
    for each in done:
        processes.run(restore, *each)


def test_the_draws_are_those_of_a_chain_in_one_process(X, local, processes, blocks):
    chain = run(started(X, priors_of(local.name), processes, blocks))
    assert (topics_of(chain) == local.topics).all()
    assert (chain.topic_totals == local.topic_totals).all()
    np.testing.assert_allclose(chain.trace, local.trace, rtol=1e-12)
    np.testing.assert_allclose(chain.label_free, local.label_free, rtol=1e-12)
    assert (chain.word_topic_counts == local.word_topic_counts).all()
    for per_topic in (False, True):
        step = MStep(per_topic=per_topic)
        log_h = np.zeros(K + 1 if per_topic else 2)
        found = [step.maximum([step.statistics(each)], log_h) for each in (chain, local)]
        np.testing.assert_array_equal(*found)


def test_workers_threads_and_blocks_do_not_matter(X, local, processes, blocks):
    chain = run(ClusterChain(ClusterCorpus(blocks(X, 1), processes), priors_of(local.name), SEED))
    assert (topics_of(chain) == local.topics).all()
    np.testing.assert_allclose(chain.trace, local.trace, rtol=1e-12)


def test_means_over_draws(X, local, processes, blocks):
    chain = run(started(X, priors_of(local.name), processes, blocks))
    draws = local.kept_draws()
    for method in ("cgs_p", "cgs"):
        topics, shares = chain.means(method)
        expected = posterior_means(local.corpus, draws, method)
        np.testing.assert_allclose(topics, expected.components, rtol=1e-5)
        np.testing.assert_array_equal(shares, expected.topic_shares)
        for name, values in (
            ("doc_topic", expected.doc_topic),
            ("doc_topic_std", doc_topic_std(local.corpus, draws.last(len(shares)))),
        ):
            found = np.concatenate([part.result() for part in chain.corpus.results(name)])
            np.testing.assert_allclose(found, values, rtol=1e-5)


def test_a_lost_worker_changes_no_draw(X, blocks, killable, tmp_path):
    corpus, priors = Corpus.from_counts(X), priors_of("shared")
    topics = random_topics(corpus.words, 0, priors, random.key(random.child(SEED, 0)))
    local = run(PartiallyCollapsedChain(corpus, priors, ChainState(topics, random.stream(random.child(SEED, 1)))))
    for saved_at in (None, 3):
        chain = started(X, priors, killable, blocks)

        def disturb(sweep, chain=chain, saved_at=saved_at):
            if sweep == saved_at:
                chain.save_parts(tmp_path, "state")
            if sweep == 5:
                os.kill(killable.run(os.getpid)[chain.corpus._addresses[1]], signal.SIGKILL)

        with pytest.warns(
            UserWarning, match=f"A worker was lost after sweep 5.* after sweep {saved_at or 0} are repeated"
        ):
            run(chain, disturb)
        assert (topics_of(chain) == local.topics).all()
        np.testing.assert_allclose(chain.trace, local.trace, rtol=1e-12)
        chain.means("cgs_p")
        assert len(chain.draws) == N_DRAWS


def test_a_lost_change_is_noticed(X, processes, blocks, patched):
    """The mutation: one worker adds the changes of another one only in part."""
    corpus, priors = Corpus.from_counts(X), priors_of("shared")
    topics = random_topics(corpus.words, 0, priors, random.key(random.child(SEED, 0)))
    local = run(PartiallyCollapsedChain(corpus, priors, ChainState(topics, random.stream(random.child(SEED, 1)))))

    def add_all_but_one(self, dense):
        dense.reshape(-1)[self.places[1:]] += self.values[1:]

    patched(Cells, "add_to", add_all_but_one)
    chain = run(started(X, priors, processes, blocks))
    assert not (topics_of(chain) == local.topics).all()


def test_cells():
    dense = np.zeros((3, 200), np.int32)
    dense[0, 3], dense[2, 199], dense[1, 0] = 5, -70_000, 1
    cells = Cells.of(dense)
    assert cells.values.tolist() == [5, 1, -70_000]
    cells.add_to(dense)
    assert dense[2, 199] == -140_000
    assert cells.nbytes == 3 * (4 + 4)


def test_an_error_on_a_worker_reaches_the_caller(X, processes, blocks, patched):
    chain = started(X, priors_of("shared"), processes, blocks)

    def fail(self, stop):
        raise ZeroDivisionError("in a sweep")

    patched(ShardChain, "sweep", fail)
    with pytest.raises(ZeroDivisionError, match="in a sweep"):
        chain.sweep()


def test_a_result_that_nobody_wants_holds_no_thread(processes):
    """As if an actor were released while a task calls it, because a fitted estimator was deleted."""

    def call_a_lost_actor():
        worker = distributed.get_worker()
        return _result_of(Actor(Shard, worker.address, "lost", worker), 0, "doc_topic")

    def n_threads_at_work():
        return sum(processes.run(lambda dask_worker: len(dask_worker.active_threads)).values())

    def wait_for(n):
        begin = time.monotonic()
        while n_threads_at_work() != n:
            assert time.monotonic() < begin + 30
            time.sleep(0.05)

    future = processes.submit(call_a_lost_actor, pure=False)
    wait_for(1)
    assert not future.done()
    future.release()
    wait_for(0)


def test_bytes_through_the_caller_do_not_grow_with_the_corpus(processes, blocks):
    rng = np.random.default_rng(0)
    moved = {}
    for n_documents in (200, 2000):
        corpus = ClusterCorpus(blocks(rng.poisson(0.5, (n_documents, 60)), 4), processes)
        chain, total, answers = ClusterChain(corpus, priors_of("shared"), SEED), [], corpus._answers

        def counted(method, arguments, answers=answers, total=total):
            found = answers(method, arguments)
            total.append(len(pickle.dumps((arguments, found))))
            return found

        corpus._answers = counted
        chain.sweep()
        chain.record()
        moved[n_documents] = sum(total)
    assert moved[2000] < moved[200] + 100 < 2000
