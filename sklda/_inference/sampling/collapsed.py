"""The collapsed Gibbs sampler: a chain of topic assignments z with theta and phi integrated out."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from sklda._inference import random
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling import log_joint
from sklda._inference.sampling.count_rows import CountRows, aligned_zeros
from sklda._inference.sampling.kept_draws import KeptDraws
from sklda._inference.sampling.steps import Draw
from sklda._kernels import _collapsed, _histograms, _log_joint, _prior_path, _tokens

# Weights (tokens times topics) of a block; `stop` is called between blocks. A block takes about a tenth of a second.
BLOCK_WEIGHTS = 2**27
# The largest width of a row of topics for which vectors of 256 bits are faster than those of 512 bits, as measured. The
# draws are the same.
_NARROW = 256
# Counts of a topic in a document up to which a sweep keeps their histogram; the others are kept one by one.
_SMALL_COUNTS = 64


@dataclass(frozen=True, eq=False)
class ChainState:
    """The state of a chain, from which it can be continued, and what was recorded during its sweeps.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z.
    stream : ndarray of shape (4,), uint64
        State of the random generator.
    n_sweeps : int
        Number of sweeps so far.
    trace : tuple of float
        ``log_joint()`` after every sweep made with `run_chains`.
    snapshots : tuple of (int, ndarray of shape (n_components, n_features), float32)
        Numbers of sweeps, and the topics phi after them.
    draws : tuple of Draw
        Those that `run_chains` kept. The last one has the present z.
    label_free : tuple of (float, float)
        log p(z | alpha), and the sum of the squared shares of the topics, after every sweep.
    n_burn_in : int
        Number of sweeps whose draws are not used.
    n_annealed : int
        Number of sweeps of the annealed start.
    steps : tuple of Step
        What is done between the sweeps, apart from a `Schedule`. Their order is that of their work.
    """

    topics: np.ndarray
    stream: np.ndarray
    n_sweeps: int = 0
    trace: tuple = ()
    snapshots: tuple = ()
    draws: tuple = ()
    label_free: tuple = ()
    n_burn_in: int = 0
    n_annealed: int = 0
    steps: tuple = ()

    def compact(self, n_components):
        """A copy without records, with topics in the smallest integer type: it saves memory."""
        return ChainState(compact_topics(self.topics, n_components), self.stream, self.n_sweeps)


class GibbsChain:
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
    trace, snapshots, draws, label_free, steps : list
        See `ChainState`.
    """

    sampler = "dense"

    def __init__(self, corpus, priors, state):
        self.corpus, self.priors = corpus, priors
        self.stream = np.array(state.stream, np.uint64)
        self.n_sweeps = state.n_sweeps
        self.trace, self.snapshots, self.draws = list(state.trace), list(state.snapshots), list(state.draws)
        self.label_free = list(state.label_free)
        self.n_burn_in, self.n_annealed = state.n_burn_in, state.n_annealed
        self.steps = [step.state() for step in state.steps]
        self._set_up(state.topics)

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

    def __reduce__(self):
        # The arrays are made again from the state, because joblib makes large arrays read-only in other processes.
        return type(self), (self.corpus, self.priors, self.state())

    def restart_stream(self, seed):
        """Continue with other random numbers."""
        self.stream = random.stream(seed)

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

    def with_workers(self, n_jobs, work):
        """Return ``work(stop)``. During this call, sweeps of parallel samplers use `n_jobs` workers; here, one."""
        return work(NEVER_STOP)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional. ``stop()`` is called between blocks of documents."""
        numbers, larger = self._histogram
        numbers[:], n_larger, self._n_larger = 0, 0, None
        for first, last in self._blocks:
            stop()
            n_larger = _collapsed.sweep(
                self.corpus.words,
                self.corpus.offsets,
                self._order[first:last],
                self.priors.doc,
                self.priors.row_of,
                self.priors.word,
                self.priors.topic,
                self.priors.totals,
                self.topics,
                *self.rows.arrays,
                self.topic_totals,
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

    def record(self):
        """Append the log joint of the present draw to `trace`, and two more numbers to `label_free`."""
        log_topics = self.log_topics()
        self.trace.append(log_topics + self.log_words())
        self.label_free.append((log_topics, float(((self.topic_totals / self.corpus.n_tokens) ** 2).sum())))

    def draw(self):
        """The present draw, with what the steps add."""
        added = {name: value for step in self.steps for name, value in step.draw().items()}
        return Draw(self.n_sweeps, compact_topics(self.topics, self.priors.n_components), added)

    def keep_draw(self, n_draws):
        """Append the present draw to `draws`. Of earlier ones than the last `n_draws`, what steps add is kept."""
        draws = [*self.draws, self.draw()]
        earlier = (draw._replace(topics=None) for draw in draws[:-n_draws] if draw.added)
        self.draws = [*earlier, *draws[-n_draws:]]

    def keep_only(self, every):
        """Forget draws of the burn-in, and those whose sweep is not a multiple of `every`."""
        self.draws = [draw for draw in self.draws if draw.sweep > self.n_burn_in and draw.sweep % every == 0]

    def kept_draws(self):
        """`KeptDraws`: the draws that were kept, or the present one if there are none."""
        draws = [draw for draw in self.draws if draw.topics is not None] or [self.draw()]
        kept = KeptDraws(self.priors, draws, tuple(self.steps))
        for step in self.steps:
            kept = step.shown(kept)
        return kept

    def step(self, kind):
        """The step of a class."""
        return next(step for step in self.steps if isinstance(step, kind))

    def log_joint(self):
        """log p(w, z | alpha, eta) with theta and phi integrated out, in nats."""
        return self.log_topics() + self.log_words()

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

    def topic_word(self):
        """The mean of phi given the present z, float32 (n_components, n_features)."""
        K = self.priors.n_components
        phi = self.word_topic_counts[:, :K].T + self.priors.topic_word()
        return (phi / phi.sum(axis=1, keepdims=True)).astype(np.float32)

    def state(self):
        """A copy of the state. A chain of the same class made from it makes the same draws as this chain."""
        records = (tuple(each) for each in (self.trace, self.snapshots, self.draws, self.label_free))
        steps = tuple(step.state() for step in self.steps)
        return ChainState(
            self.topics.copy(), self.stream.copy(), self.n_sweeps, *records, self.n_burn_in, self.n_annealed, steps
        )


def compact_topics(topics, n_components):
    """A copy of the topics of all tokens, in the smallest unsigned integer type: one byte up to 256 topics."""
    return topics.astype(np.min_scalar_type(n_components - 1))


def checked_topics(topics, corpus, n_components, lowest=0):
    """A copy of the topics of all tokens, int32, after checks. With ``lowest=-1`` a token may have no topic."""
    topics = np.asarray(topics)
    if topics.shape != (corpus.n_tokens,):
        raise ValueError(f"topics have shape {topics.shape}; the corpus has {corpus.n_tokens} tokens.")
    # Checked before the cast to int32, which could overflow silently.
    if topics.size and not (lowest <= int(topics.min()) and int(topics.max()) < n_components):
        raise ValueError(
            f"topics range from {topics.min()} to {topics.max()}; they must be at least {lowest} and below "
            f"{n_components}."
        )
    return topics.astype(np.int32)
