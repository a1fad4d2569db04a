"""The partitioned sampler: the collapsed sampler in parallel, for a partition of documents and vocabulary."""

from collections import defaultdict, deque
from statistics import median
from time import perf_counter

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._kernels import _partitioned
from sklda._sampling.blocked import ThreadedChain, run_tasks
from sklda._sampling.collapsed import BLOCK_WEIGHTS
from sklda._sampling.count_rows import aligned_zeros

# Number of workers: one for each `TOKENS_PER_WORKER` tokens, within these bounds. Up to two million tokens, two workers
# reject fewer steps than four and open a document half as often.
_LEAST_WORKERS, _MOST_WORKERS, TOKENS_PER_WORKER = 2, 8, 2**20
# Fewer workers if each would draw fewer tokens than this of a document in a turn: to open it takes as long as a few.
_LEAST_PART = 32
# Tokens of a step of all workers: a share of the corpus that falls as the fourth root of the number of topics. A worker
# has at least so many roots of the number of tokens. Threads wait less for each other if steps are longer, but more of
# them are rejected: of three million tokens with 100 and 1,000 topics, 2 and 3 % of the steps with a share of .012, 5
# and 6 % with .024, 11 and 15 % with .048. On an idle machine, two threads are worth 1.8 and 1.6 to 1.7 of one thread
# of the collapsed sampler with each of these shares.
_STEP_SHARE, _LEAST_STEP = 0.024, 1.0
# The median of so many sweeps is the time of a sweep. Every so many sweeps, one is made by the slower of one thread and
# all, in case other programs have ended: on two idle cores this takes 2 % of the time.
_TIMED, _TRIAL = 3, 32


class ThreadChoice:
    """One thread or all: which of them makes a sweep sooner, beside the other programs of the machine."""

    def __init__(self):
        self._seconds: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=_TIMED))
        self._n_sweeps = 0

    def n_threads(self, most: int) -> int:
        """The threads of the next sweep. The first sweep fills caches; those after it are of both kinds in turn."""
        one, all_threads = self._seconds[1], self._seconds[most]
        if most == 1 or self._n_sweeps == 0 or len(all_threads) < min(len(one) + 1, _TIMED):
            return most
        if len(one) < _TIMED:
            return 1
        faster, slower = (1, most) if median(one) < median(all_threads) else (most, 1)
        return slower if self._n_sweeps % _TRIAL == 0 else faster

    def add(self, n_threads: int, seconds: float) -> None:
        """Note the time of a sweep."""
        if self._n_sweeps:
            self._seconds[n_threads].append(seconds)
        self._n_sweeps += 1


class PartitionedChain(ThreadedChain):
    """A `GibbsChain` whose sweep draws tokens of different documents and words in parallel.

    The target is p(z | w, alpha, eta), as for every `GibbsChain`. The documents are divided among W workers, and the
    vocabulary is divided into W parts. A sweep has W turns. In each turn, each worker draws the tokens of its documents
    in one part of the vocabulary, a different part for each worker. A step of some hundred or thousand tokens of every
    worker is accepted or rejected as a whole; see _kernels/_partitioned.pyx. Draws depend only on the state, not on
    `n_jobs`: within a step, a thread does the work of any worker that no other thread has begun. Where one thread is
    faster than all, beside other programs, sweeps use one.

    Attributes
    ----------
    stream : ndarray of shape (4,), uint64
        Seed of the random streams of the next sweep.
    acceptance_rate : float
        Share of the steps of the last sweep that were accepted.
    """

    sampler = "partitioned"

    def _set_up(self, topics):
        super()._set_up(topics)
        corpus, K, width = self.corpus, self.priors.n_components, self._width
        n_opened = np.count_nonzero(corpus.lengths)
        most = min(corpus.n_tokens // TOKENS_PER_WORKER, corpus.n_tokens // max(_LEAST_PART * n_opened, 1))
        W = self._n_workers = int(np.clip(most, _LEAST_WORKERS, _MOST_WORKERS))
        self._word_cuts = _cut(corpus.word_frequencies, W)
        self._doc_cuts = _cut(corpus.lengths, W)
        part = np.searchsorted(self._word_cuts[1:-1], corpus.words, side="right")
        n_tokens = np.bincount(corpus.token_documents * W + part, minlength=corpus.n_documents * W).reshape(-1, W)
        self._cuts = np.empty((corpus.n_documents, W + 1), np.int64)
        self._cuts[:, 0] = corpus.offsets[:-1]
        self._cuts[:, 1:] = n_tokens.cumsum(axis=1) + corpus.offsets[:-1, None]
        self._edges, longest = _steps(n_tokens, self._doc_cuts, self._step())
        self._shared = (
            np.empty(4, np.uint64),
            np.empty((2, W, K), np.int32),
            np.empty((W, K), np.int32),
            np.empty((2, W, K), np.int32),
            np.empty(W),
            np.empty((2, K)),
            np.empty((W, longest), np.int32),
        )
        # Each array has one row more than the kernel uses, so that two threads never write to the same cache line.
        self._scratch_by_thread = [
            aligned_zeros((W, n * width), dtype) for n, dtype in ((4, np.double), (3, np.float32), (2, np.int32))
        ]
        self.acceptance_rate = np.nan
        self._choice = ThreadChoice()

    def _step(self):
        """The number of tokens in a step of one worker."""
        n_tokens = self.corpus.n_tokens
        share = _STEP_SHARE / self.priors.n_components**0.25
        return max(share * n_tokens / self._n_workers, _LEAST_STEP * np.sqrt(n_tokens))

    def _is_slow(self):
        return self.corpus.n_tokens * self._width > BLOCK_WEIGHTS * self._n_workers

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once. ``stop()`` is called between turns, and its flag is read between steps."""
        priors, W, n_threads = self.priors, self._n_workers, 1
        if self._team:
            # An error in one thread sets the flag of the team. Without it, the other threads would wait for its part.
            stop, n_threads = self._team.stop, self._choice.n_threads(min(self._team.n_threads, W))
        began = perf_counter()
        seeds = np.random.SeedSequence(self.stream.tolist()).generate_state(4 + W + 4 * W * W, np.uint64)
        keys, streams = seeds[4 : 4 + W], seeds[4 + W :].reshape(W, W, 4)
        accepted = np.zeros(W, np.int64)
        for turn, edges in enumerate(self._edges):
            stop()
            arguments = (
                self.corpus.words,
                self._cuts,
                edges,
                turn,
                priors.doc,
                priors.row_of,
                priors.word,
                priors.topic,
                priors.totals,
                self.topics,
                *self.rows.arrays,
                self.topic_totals,
                streams[turn],
                keys[turn],
                accepted[turn : turn + 1],
                self._vectors,
                *self._shared,
                np.zeros(_partitioned.PROGRESS_SIZE + W, np.int32),
                stop.flag,
                n_threads,
            )
            tasks = (
                (*arguments, thread, *(scratch[thread] for scratch in self._scratch_by_thread))
                for thread in range(n_threads)
            )
            run_tasks(self._team, _partitioned.run, tasks)
        self._choice.add(n_threads, perf_counter() - began)
        self.acceptance_rate = float(accepted.sum() / sum(edges.shape[1] - 1 for edges in self._edges))
        self.stream = seeds[:4].copy()
        self.n_sweeps += 1


def _cut(sizes, n_parts):
    """Cut a sequence of items into parts of about the same total size; the indices of the cuts, (n_parts + 1,)."""
    running = np.concatenate([[0], np.cumsum(sizes)])
    edges = np.searchsorted(running, np.arange(n_parts + 1) * running[-1] / n_parts)
    edges[[0, -1]] = 0, len(sizes)
    return edges


def _steps(n_tokens, cuts, step):
    """Cut the documents of every worker into steps, for every turn. In a turn all workers have as many steps.

    Parameters
    ----------
    n_tokens : ndarray of shape (n_documents, n_workers)
        Tokens of every document in every part of the vocabulary.
    cuts : ndarray of shape (n_workers + 1,)
        Worker i has the documents from ``cuts[i]`` to ``cuts[i + 1] - 1``.
    step : float
        Approximate number of tokens of a step.

    Returns
    -------
    edges : list of ndarray of shape (n_workers, n_steps + 1)
        For each turn, the first document of every step, and the end of the last step.
    longest : int
        Number of tokens of the longest step.
    """
    W, result, longest = len(cuts) - 1, [], 0
    running = np.zeros((len(n_tokens) + 1, W), np.int64)
    n_tokens.cumsum(axis=0, out=running[1:])
    for turn in range(W):
        parts = (np.arange(W) + turn) % W
        first, last = running[cuts[:-1], parts], running[cuts[1:], parts]
        n_steps = max(round((last - first).max() / step), 1)
        edges = np.empty((W, n_steps + 1), np.int64)
        marks = first[:, None] + (last - first)[:, None] * np.arange(n_steps + 1) / n_steps
        for worker, part in enumerate(parts):
            edges[worker] = running[:, part].searchsorted(marks[worker])
        # The search can go beyond the documents of a worker if documents at their ends have no token of the part.
        edges = np.minimum(np.maximum(edges, cuts[:-1, None]), cuts[1:, None])
        edges[:, 0], edges[:, -1] = cuts[:-1], cuts[1:]
        passed = running[edges, parts[:, None]]
        longest = max(longest, int((passed[:, 1:] - passed[:, :-1]).max()))
        result.append(edges)
    return result, longest
