"""The documents of a Dask array on the workers of a cluster: actors that are made again when a worker is lost."""

import hashlib
import time
from contextlib import contextmanager, suppress
from functools import cached_property

import numpy as np

from sklda._core.corpus import Corpus, check_largest, distinct_lengths_of
from sklda._core.parallel import aligned
from sklda._input.dask_arrays import blocks_of
from sklda._models.dask.shard import Shard

# Seconds between two checks whether the workers are there, to wait for a worker if there is none, and to wait for the
# end of the work of all workers.
_CHECK, _WAIT, _END = 0.5, 60.0, 2.0
# Seconds until a busy scheduler has noticed that a worker which cannot be reached is lost.
_NOTICE = 30.0
# Seconds between two looks at the answers of workers.
_POLL = 0.0005
# Workers that may be lost one after the other with the same blocks, as many as Dask allows for a task.
_MOST_LOST = 3


class WorkerLost(Exception):
    """A worker was lost, and its actor with it."""


class ClusterCorpus:
    """The documents of a Dask array. They are on the workers of a cluster.

    Every worker reads consecutive blocks and keeps their tokens. Attributes are those of `Corpus`.

    Parameters
    ----------
    X : dask.array.Array of shape (n_documents, n_features)
    client : distributed.Client
    """

    def __init__(self, X, client):
        self.client, self._sources = client, blocks_of(X)
        self.n_features = int(X.shape[1])
        self._shapes = [(n_rows, self.n_features) for n_rows in X.chunks[0]]
        n_shards = min(len(self._workers()), len(self._sources))
        self._parts = np.array_split(np.arange(len(self._sources)), n_shards)
        self._futures, self.actors, self._addresses = ([None] * n_shards for _ in range(3))
        self._epoch, self._facts = -1, None
        # The futures of blocks that are read, and which of them have been.
        self._reading, self._read = {}, set()
        # How many workers were lost one after the other, and the blocks that all of them had.
        self._n_lost, self._suspects = 0, set()
        with self.ended_by_errors():
            self._describe()

    def _describe(self):
        """Have all blocks read, and set the attributes of the corpus."""
        self.make_actors()
        while True:
            try:
                self._facts = [fact for facts in self.call("describe") for fact in facts]
                frequencies, lengths = self.call("facts_of_all")[0]
                break
            except WorkerLost:
                self.make_actors()
        self.progress()
        # Those of each worker are checked there, but counts are those of all.
        check_largest("word", frequencies)
        self.word_frequencies = frequencies
        self.length_histogram = lengths
        self.length_histogram[0] = 0
        self.distinct_lengths = distinct_lengths_of(lengths)
        self.block_documents, self.block_tokens = np.array([fact[:2] for fact in self._facts]).T
        self.n_documents, self.n_tokens = int(self.block_documents.sum()), int(self.block_tokens.sum())

    @cached_property
    def fingerprint(self):
        """Hash of the whole content and of its division into blocks."""
        digest = hashlib.blake2b(digest_size=16)
        for _, _, fingerprint in self._facts:
            digest.update(fingerprint.encode())
        return digest.hexdigest()

    def first_of_shards(self, sizes):
        """The sum of the sizes of all blocks before each shard."""
        running = np.concatenate([[0], np.cumsum(sizes)])
        return [int(running[part[0]]) for part in self._parts]

    def results(self, name):
        """Futures of the results of all blocks, on the workers that have the blocks; see `Shard.result`."""
        return [
            self.client.submit(_result_of, actor, i, name, workers=[address], pure=False)
            for actor, address, part in zip(self._futures, self._addresses, self._parts, strict=True)
            for i in range(len(part))
        ]

    def _workers(self):
        """Addresses of the workers, and their numbers of threads."""
        begin, task = time.monotonic(), None
        while not (workers := self.client.nthreads()):
            # A cluster that adapts itself starts workers only for tasks.
            task = task or self.client.submit(int, pure=False)
            if time.monotonic() > begin + _WAIT:
                raise RuntimeError(
                    f"the Dask cluster has had no worker for {_WAIT:.0f} seconds: add workers and fit again."
                )
            time.sleep(_CHECK)
        return dict(sorted(workers.items()))

    def make_actors(self):
        """Make the actors that do not exist, and connect all of them anew.

        Raises
        ------
        ValueError
            If a block is not what it was when it was read first.
        """
        while True:
            workers = self._workers()
            lost = [i for i in range(len(self.actors)) if self._is_lost(i, workers)]
            for i in lost:
                self.actors[i] = self._futures[i] = self._addresses[i] = None
            try:
                if lost:
                    with _without_thread():
                        self._make(lost, workers)
                self._join()
                self._check_blocks(lost)
                return
            except WorkerLost:
                # Dask would go on waiting for the lost worker.
                self._reading, self._read = {}, set()
                pairs = zip(self.actors, self._futures, strict=True)
                self._futures = [None if actor is None else future for actor, future in pairs]

    def _make(self, lost, workers):
        for i in lost:
            # The worker with the fewest actors.
            self._addresses[i] = min(workers, key=self._addresses.count)
            where = {"workers": [self._addresses[i]], "allow_other_workers": True}
            self._futures[i] = self.client.submit(Shard, int(self._parts[i][0]), actor=True, pure=False, **where)
        made = [self._wait(self._futures[i], workers) for i in lost]
        for i in lost:
            self._addresses[i] = self.client.who_has(self._futures[i])[self._futures[i].key][0]
        reads = [self._start_to_read(i) for i in lost]
        for i, actor, read in zip(lost, made, reads, strict=True):
            self._wait(read, workers)
            self.actors[i] = actor
        self._reading, self._read = {}, set()

    def _join(self):
        """Give every actor its place among the present ones."""
        self._epoch += 1
        n_threads = self.client.nthreads()
        threads = [max(n_threads.get(own, 1) // self._addresses.count(own), 1) for own in self._addresses]
        places = [(self._epoch, i, self.actors, n) for i, n in enumerate(threads)]
        self._results(lambda actor, *place: actor.join(*place), places)

    def _check_blocks(self, read_again):
        """Refuse blocks that have changed."""
        if self._facts is None or not read_again:
            return
        facts = self.call("describe")
        for i in read_again:
            for block, now in zip(self._parts[i], facts[i], strict=True):
                if now != self._facts[block]:
                    raise ValueError(
                        f"block {block} of X was read again after the loss of a worker, and its counts have changed. "
                        "Fit again, with an X that stays the same."
                    )

    def _start_to_read(self, shard):
        """A future that is done when an actor has its blocks."""
        import dask

        read = [dask.delayed(Corpus.of_block)(self._sources[b], int(b), self._shapes[b]) for b in self._parts[shard]]
        where = {"workers": [self._addresses[shard]]}
        # The actor does not depend on the blocks: the scheduler would keep their tasks, and Dask confuses them with
        # those of later computations of X, which it may have optimised differently.
        blocks = self.client.compute(read, **where)
        self._reading |= dict(zip(self._parts[shard].tolist(), blocks, strict=True))
        return self.client.submit(_give, self._futures[shard].key, *blocks, pure=False, **where)

    def _wait(self, future, workers):
        """The result of a future, unless a worker is lost."""
        while not future.done():
            time.sleep(0.01)
            self._read |= {block for block, reading in self._reading.items() if reading.status == "finished"}
            if lost := set(workers) - set(self.client.nthreads()):
                shards = [i for i, address in enumerate(self._addresses) if address in lost]
                self._lose(self._blocks_of(shards) - self._read)
        return future.result()

    def _blocks_of(self, shards):
        return {int(block) for i in shards for block in self._parts[i]}

    def _lose(self, blocks):
        """Raise a `WorkerLost`, or an error if the workers that had one of these blocks are lost again and again."""
        common = self._suspects & blocks
        self._n_lost, self._suspects = (self._n_lost + 1, common) if common else (1, blocks)
        if self._n_lost > _MOST_LOST:
            names = " or ".join(f"block {block}" for block in sorted(common))
            raise RuntimeError(
                f"{self._n_lost} workers were lost one after the other with {names} of X, which may be too large for "
                "the memory of a worker: give smaller blocks, or workers with more memory."
            )
        raise WorkerLost

    def progress(self):
        """The workers have done something that those which were lost had not."""
        self._n_lost, self._suspects = 0, set()

    def call(self, method, *arguments, by_shard=None):
        """Call a method of all actors at the same time; a list of the results.

        Parameters
        ----------
        method : str
        *arguments : object
        by_shard : list of tuple, default=None
            For each actor, the arguments before the others.

        Raises
        ------
        WorkerLost
            If a worker was lost. `make_actors` replaces it.
        RuntimeError
            If several were lost one after the other with the same block.
        """
        firsts = by_shard or [()] * len(self.actors)
        return self._answers(method, [(*first, *arguments) for first in firsts])

    def call_first(self, method):
        """The result of a method of the first actor."""
        return self._answers(method, [()])[0]

    def _answers(self, method, arguments):
        """The results of a method of the first actors, with the arguments of each."""
        return self._results(lambda actor, *each: actor.run(self._epoch, method, *each), arguments)

    def _results(self, call, arguments):
        pending, results, checked = None, {}, time.monotonic()
        while pending is None or pending:
            try:
                if pending is None:
                    calls = [call(actor, *each) for actor, each in zip(self.actors, arguments, strict=False)]
                    pending = dict(enumerate(calls))
                time.sleep(_POLL)
                for i in [i for i, each in pending.items() if each.done()]:
                    results[i] = aligned(pending.pop(i).result())
            except Exception as error:
                # The error may follow from the end of a worker, which the scheduler notices a little later.
                limit = time.monotonic() + (_NOTICE if isinstance(error, OSError) else _CHECK)
                while time.monotonic() < limit:
                    time.sleep(_CHECK / 10)
                    self._check_workers()
                self.end_work()
                raise
            if time.monotonic() > checked + _CHECK:
                self._check_workers()
                checked = time.monotonic()
        return [results[i] for i in range(len(arguments))]

    def _check_workers(self):
        lost = [i for i in range(len(self.actors)) if self._is_lost(i, self.client.nthreads())]
        if lost:
            self._lose(self._blocks_of(lost))

    def _is_lost(self, shard, workers):
        """Whether there is no actor for a shard, given the present workers."""
        future = self._futures[shard]
        return self._addresses[shard] not in workers or future is None or future.status in ("error", "lost")

    @contextmanager
    def ended_by_errors(self):
        """A context in which an error or an interrupt ends the work of all workers."""
        try:
            yield
        except BaseException as error:
            self.end_work()
            if isinstance(error.__context__, KeyboardInterrupt):
                # In the locks of Python, Ctrl-C becomes "release unlocked lock".
                raise KeyboardInterrupt from error
            raise

    def end_work(self):
        """End the work of all workers, which drop what they have."""
        ends = []
        for actor in self.actors:
            # The worker may be lost.
            with suppress(Exception):
                ends.append(actor.end())
        limit = time.monotonic() + _END
        while not all(end.done() for end in ends) and time.monotonic() < limit:
            time.sleep(_POLL)
        # The workers drop actors without futures. But each call of an actor leaves a cycle of references to its future,
        # which would live until Python collects it.
        with suppress(Exception):
            self.client.cancel([each for each in self._futures if each is not None], force=True)
        self._futures = [None] * len(self.actors)


@contextmanager
def _without_thread():
    """In a task of a worker: leave its thread to other tasks, as tasks do in which Dask computes something."""
    from distributed import rejoin, secede

    try:
        secede()
    except (AttributeError, KeyError, ValueError):
        # There is no task, or it has left its thread already.
        has_left = False
    else:
        has_left = True
    try:
        yield
    finally:
        if has_left:
            rejoin()


def _give(key, *blocks):
    """Give blocks to an actor of this worker."""
    from distributed import get_worker

    get_worker().state.actors[key].take_blocks(blocks)


def _result_of(actor, block, name):
    """The result of a block, on the worker that has it. None if the actor was released, because nobody wants it."""
    from distributed import get_worker

    # Without a call: one to a released actor is an error in the log of the worker, or never ends.
    shard = get_worker().state.actors.get(actor.key)
    return None if shard is None else shard.result(block, name)
