"""The collapsed sampler for many topics: tokens are drawn word by word, and documents are sparse lists of topics."""

import itertools

import numpy as np

from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import padded
from sklda._inference.sampling.collapsed import GibbsChain, checked_topics
from sklda._kernels import LANES, _histograms, _tokens, _word_layout, _word_major

# Topics and their counts in a document are stored in 16 bits.
_LARGEST = 2**16 - 1
# Tokens of a block; `stop` is called between blocks. A block takes about a tenth of a second.
_BLOCK_TOKENS = 2**20


class WordMajorChain(GibbsChain):
    """A `GibbsChain` that stores neither the word-topic nor the document-topic matrix.

    All documents must share alpha, and all topics must share eta. Tokens are drawn in the order of their words, which
    is a systematic scan as valid as the order of documents. The chain takes 6 bytes for each token, and 4 bytes for
    each topic that a document can have, at most one for each token.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z. The array is computed at every access.
    word_topic_counts : ndarray of shape (n_features, width), int32
        m_kv. The array is computed at every access.
    """

    sampler = "sparse"

    @staticmethod
    def supports(corpus, priors):
        """Whether this class supports the corpus and the priors."""
        return (
            len(priors.doc) == 1
            and not len(priors.topic)
            and priors.n_components <= _LARGEST
            and corpus.lengths.max() <= _LARGEST
        )

    def _set_up(self, topics):
        corpus, K = self.corpus, self.priors.n_components
        topics = checked_topics(topics, corpus, K)
        self.topic_totals = np.zeros(K, np.int64)
        self._word_offsets = np.zeros(corpus.n_features + 1, np.int64)
        self._documents = np.empty(corpus.n_tokens, np.int32)
        self._topics = np.empty(corpus.n_tokens, np.uint16)
        _word_layout.arrange(
            corpus.words,
            corpus.offsets,
            topics,
            self._word_offsets,
            self._documents,
            self._topics,
            self.topic_totals,
        )
        lines = -(-np.minimum(corpus.lengths, K) // LANES)
        self._begins = (np.cumsum(lines) - lines).astype(np.int32)
        self._entries = np.zeros(int(lines.sum()) * LANES, np.uint32)
        self._sizes = np.zeros(corpus.n_documents, np.int32)
        _word_layout.fill(corpus.offsets, topics, self._begins, self._entries, self._sizes)
        width, longest = padded(K), int(lines.max())
        n_spans = -(-width // LANES**2)
        self._wide = _word_major.wide_vectors()
        self._scratch = (
            np.empty((4, width), np.float32),
            np.empty(longest * LANES, np.float32),
            np.empty(width, np.int32),
            np.empty((n_spans, LANES)),
            np.empty(longest + n_spans),
        )
        marks = np.searchsorted(self._word_offsets, np.arange(0, corpus.n_tokens, _BLOCK_TOKENS))
        self._blocks = np.unique(np.append(marks, [0, corpus.n_features])).tolist()

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional. ``stop()`` is called between blocks of words."""
        _word_layout.sort(self._begins, self._entries, self._sizes)
        for first, last in itertools.pairwise(self._blocks):
            stop()
            _word_major.sweep(
                self._word_offsets,
                self._documents,
                first,
                last,
                self.priors.doc[0],
                self.priors.word,
                self.priors.totals[0],
                self._topics,
                self._begins,
                self._entries,
                self._sizes,
                self.topic_totals,
                self.stream,
                self._wide,
                *self._scratch,
            )
        self.n_sweeps += 1

    def log_topics(self):
        """log p(z | alpha)."""
        lists = self._begins, self._entries, self._sizes
        return _word_layout.log_topics(self.corpus.offsets, self.priors.doc[0], *lists)

    def log_words(self):
        """log p(w | z, eta)."""
        return _word_layout.log_words(
            self._word_offsets,
            self._topics,
            self.priors.word,
            self.priors.totals[0],
            self.topic_totals,
            self._scratch[2],
        )

    def _count_documents(self, histogram):
        return _histograms.document_lists(self._begins, self._entries, self._sizes, histogram)

    def word_histogram(self):
        histogram = np.zeros(int(np.diff(self._word_offsets).max()) + 1, np.int64)
        _histograms.word_lists(self._word_offsets, self._topics, histogram, self._scratch[2])
        return histogram

    @property
    def topics(self):
        topics = np.empty(self.corpus.n_tokens, np.int32)
        _word_layout.restore(self.corpus.words, self._topics, self._word_offsets[:-1].copy(), topics)
        return topics

    @property
    def word_topic_counts(self):
        counts = np.zeros((self.corpus.n_features, padded(self.priors.n_components)), np.int32)
        _tokens.count_topics(self.corpus.words, self.topics, counts, np.zeros_like(self.topic_totals))
        return counts
