"""The collapsed sampler for many topics: tokens are drawn word by word, and documents are sparse lists of topics."""

import itertools

import numpy as np

from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import padded
from sklda._kernels import LANES, _histograms, _log_joint, _tokens, _word_layout, _word_major, _word_major_path
from sklda._sampling import log_joint
from sklda._sampling.chain import checked_topics
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.count_rows import aligned_zeros

# Topics, and their counts in the list of a document, are stored in 16 bits.
_LARGEST = 2**16 - 1
# Tokens of a block; `stop` is called between blocks. A block takes about a tenth of a second.
_BLOCK_TOKENS = 2**20


class WordMajorChain(GibbsChain):
    """A `GibbsChain` that stores neither the word-topic nor the document-topic matrix.

    Tokens are drawn in the order of their words, which is a systematic scan as valid as the order of documents. The
    chain takes 6 bytes for each token, and 4 bytes for each topic that a document can have, at most one for each token.
    Long documents have 2 bytes for each topic, and 4 bytes from 65,536 tokens on.

    The sweep is made for documents that share alpha. If each document has its own, its list also has the topics for
    which its alpha is larger than the smallest one of all documents.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z. The array is computed at every access.
    word_topic_counts : ndarray of shape (n_features, width), int32
        m_kv. The array is computed at every access.
    """

    sampler = "sparse"
    # A document of at least this many tokens times the squared number of topics has a row of all counts in place of a
    # list. Measured at 50 to 400 topics with documents of 50 to 600 tokens.
    least_for_row = 0.01
    _priors = None

    @staticmethod
    def supports(corpus, priors):
        """Whether this class supports the number of topics, and its sweep is made for the priors."""
        return priors.shared and priors.n_components <= _LARGEST

    @property
    def priors(self):
        return self._priors

    @priors.setter
    def priors(self, priors):
        first, self._priors = self._priors is None, priors
        self._word_prior, self._topic_prior, self._prior_totals = priors.word, priors.topic, priors.totals
        self._alpha, added, self._strength = priors.doc[0], None, 1.0
        if not priors.shared:
            self._alpha = priors.doc.min(axis=0)
            added = priors.doc - self._alpha, priors.row_of
        if not first:
            self._set_excess(added)

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
        self._wide = _word_major.wide_vectors()
        marks = np.searchsorted(self._word_offsets, np.arange(0, corpus.n_tokens, _BLOCK_TOKENS))
        self._blocks = np.unique(np.append(marks, [0, corpus.n_features])).tolist()
        priors = self.priors
        self._lay_out(topics, None if priors.shared else (priors.doc - self._alpha, priors.row_of))

    def _set_excess(self, added):
        """Set the excess of the priors of documents over `_alpha`, as `lists_and_rows` takes it; None: no excess."""
        if added is not None or len(self._excess):
            self._lay_out(self.topics, added)

    def _lay_out(self, topics, added):
        """Count the topics of the documents in lists and rows."""
        K, width = self.priors.n_components, padded(self.priors.n_components)
        self._begins, self._entries, self._excess, self._sizes, longest = lists_and_rows(
            self.corpus, K, topics, self.least_for_row, added
        )
        n_spans = -(-width // LANES**2)
        self._scratch = (
            aligned_zeros((4 * width + longest * LANES,), np.float32),
            longest > 0,
            np.empty(width, np.int32),
            np.empty(K + n_spans * (LANES + 1) + max(longest, width // LANES)),
        )

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional. ``stop()`` is called between blocks of words."""
        _word_layout.sort(self._begins, self._entries, self._excess, self._sizes)
        for first, last in itertools.pairwise(self._blocks):
            stop()
            _word_major.sweep(
                self._word_offsets,
                self._documents,
                first,
                last,
                self._alpha,
                self._word_prior,
                self._topic_prior,
                self._prior_totals,
                self._strength,
                self._topics,
                self._begins,
                self._entries,
                self._excess,
                self._sizes,
                self.topic_totals,
                self.stream,
                self._wide,
                *self._scratch,
            )
        self.n_sweeps += 1

    def anneal(self, path, stop=NEVER_STOP, *, weigh=True):
        """As `GibbsChain.anneal`. The documents must share alpha at position 0."""
        base, slope, positions = path.base, path.doc_slope, np.asarray(path.positions, dtype=np.float64)
        if not base.shared:
            raise ValueError("The documents must share alpha at the beginning of a path.")
        self.priors = path.priors_at(positions[0])
        common, slope_sums = slope.min(axis=0), slope.sum(axis=1)
        if len(path.slope_row_of) > 1:
            self._set_excess((slope - common, path.slope_row_of))
            slope_sums = slope_sums[path.slope_row_of]
        self._word_prior, self._topic_prior = (np.array(each) for each in (self._word_prior, self._topic_prior))
        totals = np.stack([self._prior_totals] * 2)
        self._prior_totals, log_weight = totals[0], 0.0
        for before, after in itertools.pairwise(positions):
            self._alpha, self._strength = base.doc[0] + before * common, before
            self.sweep(stop)
            stop()
            if weigh:
                log_weight += _word_major_path.move_documents(
                    self.corpus.offsets,
                    self._begins,
                    self._entries,
                    self._excess,
                    self._sizes,
                    self._alpha,
                    base.doc[0] + after * common,
                    before,
                    after,
                    base.doc.sum() + np.outer([before, after], slope_sums),
                )
            log_weight += _word_major_path.move_words(
                self._word_offsets,
                self._topics,
                self.topic_totals,
                base.word,
                base.topic,
                path.word_slope,
                path.topic_slope,
                after,
                weigh,
                self._word_prior,
                self._topic_prior,
                totals,
                self._scratch[2],
            )
        self.priors = path.priors_at(positions[-1])
        return log_weight

    def log_topics(self):
        """log p(z | alpha)."""
        return log_topics(self.corpus, self.priors, self._begins, self._entries, self._sizes)

    def log_words(self):
        """log p(w | z, eta)."""
        K, cells = self.priors.n_components, log_joint.word_priors(self.priors, self.corpus.n_tokens)
        return log_joint.word_totals(self.topic_totals, self.priors) + _log_joint.tokens(
            self._word_offsets, self._topics, K, *cells, self._scratch[2]
        )

    def _count_documents(self, histogram, larger):
        K = self.priors.n_components
        return _histograms.document_lists(self._begins, self._entries, self._sizes, K, histogram, larger)

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


def log_topics(corpus, priors, begins, entries, sizes):
    """log p(z | alpha), from the arrays of `lists_and_rows`."""
    cells = log_joint.cell_priors(priors.doc, corpus.n_tokens, priors.row_of)
    cells = _log_joint.lists(begins, entries, sizes, priors.n_components, *cells)
    return log_joint.of_topics(corpus, priors, cells)


def lists_and_rows(corpus, n_components, topics, least_for_row, added=None):
    """The topic counts of documents as lists and rows.

    Parameters
    ----------
    corpus : Corpus
    n_components : int
    topics : ndarray of shape (n_tokens,), int32
    least_for_row : float
        See `WordMajorChain`.
    added : tuple of (ndarray of shape (n_rows, n_components), ndarray of shape (n_documents,)), default=None
        The excess of the priors over the shared one, and the row of each document. None: nothing.

    Returns
    -------
    begins, entries, excess, sizes : ndarray
        As _kernels/_word_major.pyx takes them.
    longest : int
        The longest list, in units of 16 entries; 0 if there is none.
    """
    K, width, lengths = n_components, padded(n_components), corpus.lengths
    sizes = np.zeros(corpus.n_documents, np.int32)
    most = lengths if added is None else lengths + np.count_nonzero(added[0], axis=1)[added[1]] + 1
    sizes[most >= least_for_row * K**2] = _word_major.ROW_16 if added is None else _word_major.ROW_32
    sizes[lengths > _LARGEST] = _word_major.ROW_32
    lines = -(-np.choose(-sizes, [np.minimum(most, K), width // 2, width]) // LANES)
    begins, longest = (np.cumsum(lines) - lines).astype(np.int32), int(lines.max(initial=0, where=sizes >= 0))
    entries = aligned_zeros((int(lines.sum()) * LANES,), np.uint32)
    excess = aligned_zeros((0 if added is None else len(entries),), np.float32)
    if added is not None:
        _word_layout.fill_excess(*added, begins, entries, excess, sizes)
    _word_layout.fill(corpus.offsets, topics, begins, entries, sizes)
    return begins, entries, excess, sizes, longest
