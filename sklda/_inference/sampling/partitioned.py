"""The collapsed sampler on several cores: documents and words in parts, whose tokens are drawn side by side."""

import numpy as np

from sklda._inference.parallel import GO_ON
from sklda._inference.sampling.collapsed import BLOCK_WEIGHTS
from sklda._inference.sampling.threaded import ThreadedChain, each
from sklda._kernels import _partitioned

# Lanes, and so threads that have something to do: at least, at most, and tokens for each of more.
_FEWEST, _MOST, _TOKENS_EACH = 4, 8, 2**21
# Tokens of a step of one lane, times the root of the corpus' size: the longer it is, the more often it is turned down.
_STEP = 1.0


class PartitionedChain(ThreadedChain):
    """A `GibbsChain` whose sweeps draw tokens of different documents and words side by side.

    Its target is p(z | w, alpha, eta) too, and it has the same face. A lane is a run of documents; in each of as many
    turns as there are lanes it draws its tokens of one part of the vocabulary, while other lanes are at other parts.
    Lanes meet after every step of some hundred or thousand tokens, which is accepted or turned down as a whole: see
    _kernels/_partitioned.pyx. Draws depend on the state alone, not on `n_jobs`.

    Attributes
    ----------
    stream : ndarray of shape (4,), uint64
        Seeds the streams of the next sweep.
    acceptance : float
        Share of the last sweep's steps that were accepted.
    """

    sampler = "partitioned"

    def _arrange(self, topics):
        super()._arrange(topics)
        corpus, K, width = self.corpus, self.priors.n_components, self.word_topic_counts.shape[1]
        L = self._n_lanes = int(np.clip(corpus.n_tokens // _TOKENS_EACH, _FEWEST, _MOST))
        ends = _cut(np.bincount(corpus.words, minlength=corpus.n_features), L)[1:-1]
        part = np.searchsorted(ends, corpus.words, side="right")
        n_tokens = np.bincount(corpus.token_documents * L + part, minlength=corpus.n_documents * L).reshape(-1, L)
        self._cuts = np.empty((corpus.n_documents, L + 1), np.int64)
        self._cuts[:, 0] = corpus.offsets[:-1]
        self._cuts[:, 1:] = n_tokens.cumsum(axis=1) + corpus.offsets[:-1, None]
        self._edges, longest = _steps(n_tokens, _cut(corpus.lengths, L), _STEP * np.sqrt(corpus.n_tokens))
        self._shared = (
            np.empty((2, L, K), np.int32),
            np.empty((2, L, K), np.int32),
            np.empty((2, L)),
            np.empty((L, longest), np.int32),
        )
        # A row more than is used, so that no two threads write to one cache line.
        self._own = [np.empty((L, n, width), dtype) for n, dtype in ((5, np.double), (3, np.float32), (3, np.int32))]
        self.acceptance = np.nan

    def _is_slow(self):
        return self.corpus.n_tokens * self.word_topic_counts.shape[1] > BLOCK_WEIGHTS * self._n_lanes

    def sweep(self, stop=GO_ON):
        """Draw every token once; ``stop()`` between turns, and by its flag between steps."""
        L, n_threads = self._n_lanes, 1
        if self._team:
            # An error in one of its threads puts up its flag, for the others not to wait.
            stop, n_threads = self._team.stop, min(self._team.n_threads, L)
        seeds = np.random.SeedSequence(self.stream.tolist()).generate_state(4 + L + 4 * L * L, np.uint64)
        keys, streams = seeds[4 : 4 + L], seeds[4 + L :].reshape(L, L, 4)
        accepted = np.zeros(L, np.int64)
        for turn, edges in enumerate(self._edges):
            stop()
            together = (
                self.corpus.words,
                self._cuts,
                edges,
                turn,
                self.priors.doc,
                self.priors.word,
                self.priors.topic,
                self.priors.totals,
                self.topics,
                self.word_topic_counts,
                self.topic_totals,
                streams[turn],
                keys[turn],
                accepted[turn : turn + 1],
                self._wide,
                *self._shared,
                np.zeros(_partitioned.MEETING_SIZE, np.int32),
                stop.flag,
                n_threads,
            )
            tasks = ((*together, thread, *(own[thread] for own in self._own)) for thread in range(n_threads))
            each(self._team, _partitioned.run, tasks)
        self.acceptance = float(accepted.sum() / sum(edges.shape[1] - 1 for edges in self._edges))
        self.stream = seeds[:4].copy()
        self.n_sweeps += 1


def _cut(sizes, n_parts):
    """Edges (n_parts + 1,) of runs of about the same total size."""
    running = np.concatenate([[0], np.cumsum(sizes)])
    edges = np.searchsorted(running, np.arange(n_parts + 1) * running[-1] / n_parts)
    edges[[0, -1]] = 0, len(sizes)
    return edges


def _steps(n_tokens, lanes, step):
    """The documents of every lane's steps in every turn: as many steps for all, of about the same size.

    Parameters
    ----------
    n_tokens : ndarray of shape (n_documents, n_lanes)
        By part of the vocabulary.
    lanes : ndarray of shape (n_lanes + 1,)
    step : float
        Tokens of a step.

    Returns
    -------
    edges : list of ndarray of shape (n_lanes, n_steps + 1)
    longest : int
        Tokens of the longest step.
    """
    L, result, longest = len(lanes) - 1, [], 0
    running = np.zeros((len(n_tokens) + 1, L), np.int64)
    n_tokens.cumsum(axis=0, out=running[1:])
    for turn in range(L):
        parts = (np.arange(L) + turn) % L
        first, last = running[lanes[:-1], parts], running[lanes[1:], parts]
        n_steps = max(round((last - first).max() / step), 1)
        edges = np.empty((L, n_steps + 1), np.int64)
        marks = first[:, None] + (last - first)[:, None] * np.arange(n_steps + 1) / n_steps
        for lane, part in enumerate(parts):
            edges[lane] = running[:, part].searchsorted(marks[lane])
        # Documents without a token of the part may stand at the ends.
        edges = np.minimum(np.maximum(edges, lanes[:-1, None]), lanes[1:, None])
        edges[:, 0], edges[:, -1] = lanes[:-1], lanes[1:]
        passed = running[edges, parts[:, None]]
        longest = max(longest, int((passed[:, 1:] - passed[:, :-1]).max()))
        result.append(edges)
    return result, longest
