"""One chain on a Dask cluster makes the draws of the same chain in one process, whatever happens to the workers."""

import asyncio
import os
import pickle
import shutil
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import dask
import numpy as np
import pytest

from sklda._checkpoints.files import Damaged
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.priors import Priors
from sklda._models.dask.cluster_chain import ClusterChain
from sklda._models.dask.cluster_corpus import ClusterCorpus, _result_of
from sklda._models.dask.shard import Shard
from sklda._models.dask.shard_chain import NonzeroCounts, ShardChain
from sklda._sampling.draws import doc_topic_std, posterior_means
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain

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
    chain = run(in_one_process(X, request.param))
    chain.name = request.param
    return chain


def in_one_process(X, priors):
    return PartiallyCollapsedChain.initialise_randomly(Corpus.from_counts(X), priors_of(priors), SEED)


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


def test_a_lost_worker_changes_no_draw(X, blocks, killable, tmp_path, monkeypatch):
    local, priors = run(in_one_process(X, "shared")), priors_of("shared")
    for saved_at in (None, 3):
        chain = started(X, priors, killable, blocks)

        def disturb(sweep, chain=chain, saved_at=saved_at):
            if sweep == saved_at:
                chain.save_parts(tmp_path, "state")
            if sweep == 5:
                os.kill(killable.run(os.getpid)[chain.corpus._addresses[1]], signal.SIGKILL)

        with pytest.warns(UserWarning, match=f"lost after sweep 5.* after sweep {saved_at or 0}"):
            run(chain, disturb)
        assert (topics_of(chain) == local.topics).all()
        np.testing.assert_allclose(chain.trace, local.trace, rtol=1e-12)
        chain.means("cgs_p")
        assert len(chain.draws) == N_DRAWS
    # The loss of the last worker does not hide the error.
    (last,) = killable.run(os.getpid).values()
    os.kill(last, signal.SIGKILL)
    monkeypatch.setattr("sklda._models.dask.cluster_corpus._WAIT", 0.1)
    with pytest.warns(UserWarning, match="A worker was lost"), pytest.raises(RuntimeError, match="has had no worker"):
        chain.with_workers(1, lambda stop: chain.sweep())


def test_a_lost_change_is_noticed(X, processes, blocks, patched):
    """The mutation: one worker adds the changes of another one only in part."""
    local = run(in_one_process(X, "shared"))

    def add_all_but_one(self, dense):
        dense.reshape(-1)[self.places[1:]] += self.values[1:]

    patched(NonzeroCounts, "add_to", add_all_but_one)
    chain = run(started(X, priors_of("shared"), processes, blocks))
    assert not (topics_of(chain) == local.topics).all()


def test_cells():
    dense = np.zeros((3, 200), np.int32)
    dense[0, 3], dense[2, 199], dense[1, 0] = 5, -70_000, 1
    cells = NonzeroCounts.of(dense)
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


def test_a_result_of_a_released_actor_is_nothing(processes):
    """A call to such an actor would never end, and its worker would log an error."""

    def result_of_a_released_actor():
        worker = distributed.get_worker()
        return _result_of(Actor(Shard, worker.address, "released", worker), 0, "doc_topic")

    assert processes.submit(result_of_a_released_actor, pure=False).result(timeout=30) is None


def test_workers_that_cannot_save_go_on(X, processes, blocks, tmp_path):
    chain, local = started(X, priors_of("shared"), processes, blocks), in_one_process(X, "shared")

    def save_nowhere(sweep):
        with pytest.raises(OSError, match=r"cannot write .*nowhere"):
            chain.save_parts(tmp_path / "nowhere", "state")

    # A worker that counts as lost would be a warning.
    run(chain, save_nowhere)
    assert (topics_of(chain) == run(local).topics).all()


def test_a_saved_state_is_read_where_its_files_are(X, processes, blocks, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    chain = started(X, priors_of("shared"), processes, blocks)
    chain.save_parts(here, "older")
    chain.sweep()
    chain.keep_draw(N_DRAWS)
    chain.save_parts(here, "state")
    chain.sweep()
    topics = topics_of(chain)
    here.rename(there)
    # This repeats the last sweep.
    chain.load_parts(there)
    assert (topics_of(chain) == topics).all()

    def flip(file):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)

    for damage in (
        flip,
        lambda file: os.truncate(file, 100),
        Path.unlink,
        lambda file: shutil.copy(there / "older-1.npz", file),
    ):
        folder = shutil.copytree(there, tmp_path / "damaged", dirs_exist_ok=True)
        damage(folder / "state-1.npz")
        with pytest.raises(Damaged, match=r"^state-1\.npz$"):
            chain.load_parts(folder)
        # The workers have not changed.
        assert (topics_of(chain) == topics).all()


def test_a_block_that_has_changed_is_not_read_again(X, processes, blocks):
    corpus = ClusterCorpus(blocks(X, 7), processes)
    corpus._sources[3] = dask.delayed(X[:17])
    corpus._futures[1] = None
    with pytest.raises(ValueError, match=r"block 3 of X .*its counts"):
        corpus.make_actors()


def test_fits_in_tasks_leave_their_threads_to_the_blocks(X, processes, blocks):
    """As many as there are threads, so that none would be left."""
    array = blocks(X, 3)
    futures = processes.map(lambda i: ClusterCorpus(array, distributed.get_client()).n_tokens, range(6), pure=False)
    assert [future.result(timeout=60) for future in futures] == [X.sum()] * 6


def test_a_cluster_without_workers_gets_a_task():
    """One that adapts itself starts a worker for it."""
    tasks = []
    client = SimpleNamespace(
        nthreads=lambda: {"tcp://worker": 1} if tasks else {}, submit=lambda *task, **how: tasks.append(task) or task
    )
    assert ClusterCorpus._workers(SimpleNamespace(client=client)) == {"tcp://worker": 1}
    assert len(tasks) == 1


class _Adder(Shard):
    """Adds numbers over shards; in a sum that it does not begin before `go`, it adds a wrong one."""

    def __init__(self, number):
        super().__init__(0)
        self.number, self.go = number, threading.Event()

    async def add(self):
        return await self.sum_over_shards(self.number, sum)

    async def add_late(self):
        await self.in_thread(self.go.wait)
        return await self.sum_over_shards(-100, sum)


def test_sums_of_an_old_tree_end():
    async def scenario():
        # This one and, before Python 3.12, that of `wait_for`.
        before = asyncio.all_tasks()
        shards = [_Adder(number) for number in (1, 2, 4, 8)]
        await asyncio.gather(*(shard.join(0, i, shards, 1) for i, shard in enumerate(shards)))
        for shard in shards[:3]:
            shard.go.set()
        old = [asyncio.ensure_future(shard.run(0, "add_late")) for shard in shards]
        await asyncio.sleep(0.02)
        # The last one is still at work when the others have joined.
        joins = [asyncio.ensure_future(shard.join(1, i, shards, 1)) for i, shard in enumerate(shards)]
        await asyncio.gather(*joins[:3])
        new = [asyncio.ensure_future(shard.run(1, "add")) for shard in shards[:3]]
        await asyncio.sleep(0.02)
        shards[3].go.set()
        await joins[3]
        assert await shards[3].run(1, "add") == 15
        assert await asyncio.gather(*new) == [15] * 3
        found = await asyncio.gather(*old, return_exceptions=True)
        assert [type(each) for each in found] == [RuntimeError] * 4
        # Calls that come late.
        await shards[0].join(0, 0, shards[:1], 1)
        with pytest.raises(RuntimeError, match="tree of the workers has changed"):
            await shards[0].run(0, "add")
        assert await asyncio.gather(*(shard.run(1, "add") for shard in shards)) == [15] * 4
        assert asyncio.all_tasks() == before

    asyncio.run(asyncio.wait_for(scenario(), 30))


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
