"""The collapsed Gibbs sampler: a chain of topic assignments z with theta and phi integrated out."""

import numpy as np
from scipy.sparse import coo_array, csr_array

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._kernels import _collapsed, _histograms, _log_joint, _prior_path, _tokens
from sklda._sampling import log_joint
from sklda._sampling.chain import Chain, ChainState, checked_topics
from sklda._sampling.count_rows import CountRows, aligned_zeros

# Weights (tokens times topics) of a block; `stop` is called between blocks. A block takes about a tenth of a second.
BLOCK_WEIGHTS = 2**27
# The largest width of a row of topics for which vectors of 256 bits are faster than those of 512 bits, as measured. The
# draws are the same.
_NARROW = 256
# Counts of a topic in a document up to which a sweep keeps their histogram; the others are kept one by one.
_SMALL_COUNTS = 64


class GibbsChain(Chain):
    """A Markov chain of topic assignments z with target p(z | w, alpha, eta).

    A sweep of this class draws every token from its full conditional, document by document, with the weights of all
    topics. Subclasses have other sweeps with the same target.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
    state : ChainState
        The initial state. Its arrays are copied.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z.
    rows : CountRows
        m_kv.
    word_topic_counts : ndarray of shape (n_features, width), int32
        m_kv, one row for each word; zero in the columns from ``n_components`` on. Computed at every access.
    topic_totals : ndarray of shape (n_components,), int64
        m_k.
    """

    sampler = "dense"

    def _set_up(self, topics):
        """Set z to `topics`, and make the counts and the scratch arrays of sweeps."""
        corpus, K, width = self.corpus, self.priors.n_components, self.priors.topic.shape[1]
        self.topics = checked_topics(topics, corpus, K, lowest=-1)
        self.topic_totals = np.zeros(K, np.int64)
        self._width = width
        self.recount()
        self._blocks = corpus.blocks(n_tokens=BLOCK_WEIGHTS // width)
        self._order = np.arange(corpus.n_documents)
        self._vectors = min(_collapsed.vectors(), 1 if width <= _NARROW else 2)
        self._counts = np.empty(width, np.int32)
        # n_dk after a sweep: how often each small count occurs in each topic, and the larger counts, of which there are
        # `_n_larger`; None if z has changed since.
        n_small = min(len(corpus.length_histogram), _SMALL_COUNTS)
        self._histogram = np.zeros((K, n_small), np.int64), np.empty((2, corpus.n_tokens // n_small), np.int32)
        self._scratch = aligned_zeros((2, width), np.float64), aligned_zeros((2, width), np.float32), self._counts

    def recount(self):
        """Compute m_kv and m_k from z."""
        self._n_larger, self.topic_totals[:] = None, 0
        self.rows = CountRows.of(self.corpus, self.topics, self._width, self.topic_totals)

    @property
    def word_topic_counts(self):
        return self.rows.dense()

    @classmethod
    def initialise_randomly(cls, corpus, priors, seed):
        """A chain whose tokens have random topics: uniform, or if each topic has a separate eta, proportional to the
        prior mean of phi_kv.
        """
        rng = np.random.default_rng(random.child(seed, 0))
        if len(priors.topic):
            weights = np.cumsum(priors.topic[:, : priors.n_components] / priors.totals, axis=1)
            # In parts, because an array of tokens x topics could be too large.
            parts = np.array_split(corpus.words, 1 + corpus.n_tokens // 2**16)
            topics = [
                (rng.random((len(w), 1)) * weights[w, -1:] >= weights[w, :-1]).sum(axis=1, dtype=np.int32)
                for w in parts
            ]
            topics = np.concatenate(topics)
        else:
            topics = rng.integers(priors.n_components, size=corpus.n_tokens, dtype=np.int32)
        return cls(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1))))

    @classmethod
    def initialise_sequentially(cls, corpus, priors, seed, stop=NEVER_STOP):
        """A chain whose tokens were drawn in turn given all tokens before them, with documents in random order."""
        state = ChainState(np.full(corpus.n_tokens, -1, np.int32), random.stream(random.child(seed, 1)))
        chain = GibbsChain(corpus, priors, state)
        chain._order = np.random.default_rng(random.child(seed, 0)).permutation(corpus.n_documents)
        chain.sweep(stop)
        return cls(corpus, priors, ChainState(chain.topics, chain.stream))

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional. ``stop()`` is called between blocks of documents."""
        self._draw_tokens(self.priors, self.topic_totals, stop)

    def _draw_tokens(self, priors, topic_totals, stop):
        """A sweep at priors of the first topics, which have all tokens; `topic_totals` are theirs."""
        numbers, larger = self._histogram
        numbers[:], n_larger, self._n_larger = 0, 0, None
        for first, last in self._blocks:
            stop()
            n_larger = _collapsed.sweep(
                self.corpus.words,
                self.corpus.offsets,
                self._order[first:last],
                priors.doc,
                priors.row_of,
                priors.word,
                priors.topic,
                priors.totals,
                self.topics,
                *self.rows.arrays,
                topic_totals,
                self.stream,
                self._vectors,
                *self._scratch,
                numbers,
                larger,
                n_larger,
            )
        self._n_larger = n_larger
        self.n_sweeps += 1

    def anneal(self, path, stop=NEVER_STOP, *, weigh=True):
        """Sweep once at each position of a path but the last. The priors become those at the last position.

        Parameters
        ----------
        path : PriorPath
        stop : Stop, optional
            Called about every tenth of a second.
        weigh : bool, default=True
            Whether the log weight is needed.

        Returns
        -------
        float
            The sum of the changes of the log joint after each sweep, when the priors move to the next position; 0 if it
            is not needed.
        """
        corpus, base, width = self.corpus, path.base, self.priors.topic.shape[1]
        shared = bool(len(base.word)) and bool(len(path.word_slope))
        word = np.empty(corpus.n_features if shared else 0)
        topic = np.zeros((0 if shared else corpus.n_features, width), np.float32)
        priors = np.empty((4, self.priors.n_components))
        positions, log_weight = np.ascontiguousarray(path.positions, dtype=np.float64), 0.0
        step = max(BLOCK_WEIGHTS // (max(corpus.n_tokens, 1) * width), 1)
        for first in range(0, len(positions) - 1, step):
            stop()
            log_weight += _prior_path.sweeps(
                corpus.words,
                corpus.offsets,
                base.doc,
                base.row_of,
                path.doc_slope,
                path.slope_row_of,
                base.word,
                base.topic,
                path.word_slope,
                path.topic_slope,
                positions[first : first + step + 1],
                weigh,
                self.topics,
                *self.rows.arrays,
                self.topic_totals,
                self.stream,
                self._vectors,
                word,
                topic,
                priors,
                *self._scratch,
                stop.flag,
            )
        stop()
        self.priors, self._n_larger = path.priors_at(positions[-1]), None
        self.n_sweeps += len(positions) - 1
        return log_weight

    def log_topics(self):
        """log p(z | alpha)."""
        priors, corpus = self.priors, self.corpus
        if self._n_larger is not None and priors.shared:
            # The histogram of the last sweep takes no pass over the tokens.
            numbers, larger = self._histogram
            larger = larger[:, : self._n_larger].copy()
            return log_joint.of_topics(corpus, priors, _log_joint.histogram(numbers, larger, priors.doc[0], 1))
        cells = log_joint.cell_priors(priors.doc, corpus.n_tokens, priors.row_of)
        cells = _log_joint.tokens(corpus.offsets, self.topics, priors.n_components, *cells, self._counts)
        return log_joint.of_topics(corpus, priors, cells)

    def log_words(self):
        """log p(w | z, eta)."""
        return self.rows.log_words(self.priors) + log_joint.word_totals(self.topic_totals, self.priors)

    def add_doc_topic_counts(self, counts):
        """Add n_dk to the float64 array `counts` (n_documents, n_components)."""
        _tokens.count_documents(self.corpus.offsets, self.topics, counts)

    def doc_topic_counts(self):
        """n_dk, float64 (n_documents, n_components)."""
        counts = np.zeros((self.corpus.n_documents, self.priors.n_components))
        self.add_doc_topic_counts(counts)
        return counts

    def doc_histogram(self):
        """How often each count n_dk > 0 occurs, int64 (largest n_dk + 1,)."""
        histogram = np.zeros((1, len(self.corpus.length_histogram)), np.int64)
        largest, _ = self._count_documents(histogram, np.empty((2, 0), np.int32))
        return histogram[0, : largest + 1]

    def doc_histogram_by_topic(self):
        """How often each count n_dk > 0 occurs in each topic, csr_array (n_components, longest document + 1), int64."""
        shape = K, n_values = self.priors.n_components, len(self.corpus.length_histogram)
        # Dense for small counts only: one document of a million tokens would take K times a million numbers.
        width = min(n_values, 2 + self.corpus.n_tokens // K)
        histogram, larger = np.zeros((K, width), np.int64), np.empty((2, self.corpus.n_tokens // width), np.int32)
        largest, n_larger = self._count_documents(histogram, larger)
        small = csr_array(histogram[:, : largest + 1])
        small = csr_array((small.data, small.indices, small.indptr), shape=shape)
        if not n_larger:
            return small
        return small + coo_array((np.ones(n_larger, np.int64), tuple(larger[:, :n_larger])), shape=shape).tocsr()

    def _count_documents(self, histogram, larger):
        """Add the documents to `histogram` and `larger`; return the largest n_dk there and the number of others."""
        return _histograms.documents(
            self.corpus.offsets, self.topics, self.priors.n_components, histogram, larger, self._counts
        )

    def word_histogram(self):
        """How often each count m_kv > 0 occurs, int64 (largest m_kv + 1,)."""
        return self.rows.histogram()
