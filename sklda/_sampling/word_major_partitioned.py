"""The partitioned sampler for many topics: each worker draws its tokens word by word."""

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._kernels import LANES, _histograms, _word_layout, _word_major, _word_major_partitioned
from sklda._sampling.count_rows import aligned_zeros
from sklda._sampling.partitioned import PartitionedChain
from sklda._sampling.word_major import WordMajorChain, lay_out, log_topics


class WordMajorPartitionedChain(PartitionedChain):
    """A `PartitionedChain` whose workers draw their tokens in the order of their words, with lists of topics.

    A step of a worker is a range of its tokens in this order. It can begin and end within the tokens of a word. All
    documents must share alpha.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z. The array is computed at every access.
    """

    least_for_row = WordMajorChain.least_for_row
    supports = WordMajorChain.supports
    _given = None

    def _set_up(self, topics):
        super()._set_up(topics)
        corpus, V, P = self.corpus, self.corpus.n_features, self._width
        topics, W = self._given, self._n_workers
        *self._lists, longest = lay_out(corpus, self.priors.n_components, topics, self.least_for_row)
        self._word_offsets = np.zeros((W, V + 1), np.int64)
        self._documents = np.empty(corpus.n_tokens, np.int32)
        self._topics = np.empty(corpus.n_tokens, np.uint16)
        for worker, (first, last, own) in enumerate(self._parts()):
            _word_layout.arrange(
                corpus.words[own],
                corpus.offsets[first : last + 1] - own.start,
                topics[own],
                self._word_offsets[worker],
                self._documents[own],
                self._topics[own],
                np.zeros_like(self.topic_totals),
            )
            self._word_offsets[worker] += own.start
            self._documents[own] += first
        # The tokens are cut otherwise here.
        self._given = self._cuts = None
        self._edges, longest_step = self._steps()
        self._shared = *self._shared[:-1], np.empty((W, longest_step), np.uint16)
        self._vectors = _word_major.wide_vectors()
        n_spans = -(-P // LANES**2)
        n_doubles = 2 * P + n_spans * (LANES + 1) + max(longest, P // LANES)
        # Each array is longer than the kernel needs, so that two threads never write to the same line of the cache.
        self._scratch_by_thread = [
            np.empty((W, n_doubles + LANES)),
            [aligned_zeros(4 * P + (longest + 1) * LANES, np.float32) for _ in range(W)],
            np.empty((W, P + LANES), np.int32),
        ]

    def _parts(self):
        """For each worker its first document, the end of its documents, and the slice of its tokens."""
        for first, last in zip(self._doc_cuts[:-1], self._doc_cuts[1:], strict=True):
            yield first, last, slice(*self.corpus.offsets[[first, last]].tolist())

    def _steps(self):
        """For each turn the ends of the steps among the tokens of every worker; and the longest step."""
        W, result, longest = self._n_workers, [], 0
        ends, step = self._word_offsets[:, self._word_cuts], self._step()
        for turn in range(W):
            parts = (np.arange(W) + turn) % W
            first, last = ends[np.arange(W), parts, None], ends[np.arange(W), parts + 1, None]
            n_steps = max(round((last - first).max() / step), 1)
            result.append(first + (last - first) * np.arange(n_steps + 1) // n_steps)
            longest = max(longest, int(np.diff(result[-1]).max()))
        return result, longest

    def _n_opened(self):
        """Words, in place of documents."""
        return np.count_nonzero(self.corpus.word_frequencies)

    def _kernel(self):
        return _word_major_partitioned.run

    def _tokens(self, edges, turn):
        priors = self.priors
        return (
            self._word_offsets,
            self._documents,
            edges,
            priors.doc[0],
            priors.word,
            priors.topic,
            priors.totals,
            self._topics,
            *self._lists,
            *self.rows.arrays,
        )

    def sweep(self, stop=NEVER_STOP):
        """As `PartitionedChain.sweep`."""
        _word_layout.sort(*self._lists)
        super().sweep(stop)

    def log_topics(self):
        """log p(z | alpha)."""
        begins, entries, _, sizes = self._lists
        return log_topics(self.corpus, self.priors, begins, entries, sizes)

    def _count_documents(self, histogram, larger):
        begins, entries, _, sizes = self._lists
        return _histograms.document_lists(begins, entries, sizes, self.priors.n_components, histogram, larger)

    @property
    def topics(self):
        if self._given is not None:
            return self._given
        topics = np.empty(self.corpus.n_tokens, np.int32)
        for worker, (_, _, own) in enumerate(self._parts()):
            cursors = self._word_offsets[worker, :-1] - own.start
            _word_layout.restore(self.corpus.words[own], self._topics[own], cursors, topics[own])
        return topics

    @topics.setter
    def topics(self, topics):
        self._given = topics
