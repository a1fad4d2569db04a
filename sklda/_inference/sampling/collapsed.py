"""A chain of the collapsed Gibbs sampler, and chains side by side."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.parallel import GO_ON, side_by_side
from sklda._kernels import LANES, _collapsed, _log_joint, _tokens

# Python looks in between blocks of about this many weights: a tenth of a second.
BLOCK_WEIGHTS = 2**27
# Wider vectors pay from about so many topics on.
_WIDE = 256


@dataclass(frozen=True, eq=False)
class ChainState:
    """All that a chain needs to go on, and what it has gathered on its way.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
    stream : ndarray of shape (4,), uint64
    n_sweeps : int
    trace : tuple of float
        ``log_joint()`` after every sweep made with ``run_chains``.
    kept : tuple of (int, ndarray of shape (n_components, n_features), float32)
        Sweeps at which topics were kept, and the topics.
    """

    topics: np.ndarray
    stream: np.ndarray
    n_sweeps: int = 0
    trace: tuple = ()
    kept: tuple = ()

    def small(self, n_components):
        """Topics in as few bytes as they take, without trace and topics kept: for states of which there are many."""
        return ChainState(self.topics.astype(np.min_scalar_type(n_components)), self.stream, self.n_sweeps)


class GibbsChain:
    """z, its counts, the priors and the stream of one Markov chain with target p(z | w, alpha, eta).

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
    state : ChainState
        Where it starts; the arrays are copied.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z.
    word_topic_counts : ndarray of shape (n_features, width), int32
        m_kv by word, zero in the columns past ``n_components``.
    topic_totals : ndarray of shape (n_components,), int64
    trace, kept : list
        As in `ChainState`.
    """

    sampler = "dense"

    def __init__(self, corpus, priors, state):
        self.corpus, self.priors = corpus, priors
        self.stream = np.array(state.stream, np.uint64)
        self.n_sweeps = state.n_sweeps
        self.trace, self.kept = list(state.trace), list(state.kept)
        self._arrange(state.topics)

    def _arrange(self, topics):
        """Set up what a sweep needs to begin at `topics`."""
        corpus, K, width = self.corpus, self.priors.n_components, self.priors.topic.shape[1]
        self.topics = in_range(topics, corpus, K, lowest=-1)
        self.word_topic_counts = np.zeros((corpus.n_features, width), np.int32)
        self.topic_totals = np.zeros(K, np.int64)
        _tokens.count_topics(corpus.words, self.topics, self.word_topic_counts, self.topic_totals)
        self._blocks = corpus.blocks(n_tokens=BLOCK_WEIGHTS // width)
        self._order = np.arange(corpus.n_documents)
        self._wide = width >= _WIDE and _collapsed.wide_vectors()
        self._counts = np.empty(width, np.int32)
        self._scratch = np.empty(width), np.empty((2, width), np.float32), self._counts, np.empty(width // LANES)

    def __reduce__(self):
        # Made anew from its state: arrays that reach another process may be read-only there.
        return type(self), (self.corpus, self.priors, self.snapshot())

    @classmethod
    def start(cls, corpus, priors, seed):
        """Begin with random topics: uniform ones, or where each topic has its own eta, drawn by the word's prior."""
        rng = np.random.default_rng(random.child(seed, 0))
        if len(priors.topic):
            weights = np.cumsum(priors.topic[:, : priors.n_components] / priors.totals, axis=1)
            # In slices, so that no tokens x topics array is formed.
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
    def start_in_turn(cls, corpus, priors, seed, stop=GO_ON):
        """Begin with every token drawn from its conditional given those before it, documents in random order."""
        state = ChainState(np.full(corpus.n_tokens, -1, np.int32), random.stream(random.child(seed, 1)))
        chain = GibbsChain(corpus, priors, state)
        chain._order = np.random.default_rng(random.child(seed, 0)).permutation(corpus.n_documents)
        chain.sweep(stop)
        return cls(corpus, priors, ChainState(chain.topics, chain.stream))

    def on_cores(self, n_jobs, work):
        """``work(stop)``, whose sweeps take `n_jobs` blocks at a time, if the sampler is made of such; this is not."""
        return work(GO_ON)

    def sweep(self, stop=GO_ON):
        """Draw every token once from its full conditional; ``stop()`` between blocks."""
        for first, last in self._blocks:
            stop()
            _collapsed.sweep(
                self.corpus.words,
                self.corpus.offsets,
                self._order[first:last],
                self.priors.doc,
                self.priors.word,
                self.priors.topic,
                self.priors.totals,
                self.topics,
                self.word_topic_counts,
                self.topic_totals,
                self.stream,
                self._wide,
                *self._scratch,
            )
        self.n_sweeps += 1

    def log_joint(self):
        """log p(w, z | alpha, eta) with theta and phi integrated out, in nats."""
        return self.log_topics() + self.log_words()

    def log_topics(self):
        """log p(z | alpha)."""
        return _log_joint.documents(self.corpus.offsets, self.topics, self.priors.doc, self._counts)

    def log_words(self):
        """log p(w | z, eta)."""
        return _log_joint.words(
            self.word_topic_counts, self.topic_totals, self.priors.word, self.priors.topic, self.priors.totals
        )

    def add_doc_topic_counts(self, counts):
        """Add n_dk to the float64 array `counts` (n_documents, n_components)."""
        _tokens.count_documents(self.corpus.offsets, self.topics, counts)

    def doc_topic_counts(self):
        """n_dk, float64 (n_documents, n_components)."""
        counts = np.zeros((self.corpus.n_documents, self.priors.n_components))
        self.add_doc_topic_counts(counts)
        return counts

    def topic_word(self):
        """phi by the counts of the present draw, float32 (n_components, n_features)."""
        K = self.priors.n_components
        phi = self.word_topic_counts[:, :K].T + self.priors.topic_word()
        return (phi / phi.sum(axis=1, keepdims=True)).astype(np.float32)

    def snapshot(self):
        """A copy of the state, from which ``GibbsChain(corpus, priors, state)`` goes on draw for draw."""
        return ChainState(self.topics.copy(), self.stream.copy(), self.n_sweeps, tuple(self.trace), tuple(self.kept))


def in_range(topics, corpus, n_components, lowest=0):
    """A copy of the topics of a corpus' tokens, int32; with `lowest` -1, a token may have none."""
    topics = np.asarray(topics)
    if topics.shape != (corpus.n_tokens,):
        raise ValueError(f"topics have shape {topics.shape}; the corpus has {corpus.n_tokens} tokens.")
    # Before they are cast, which would wrap; of any dtype, so without `initial`.
    if topics.size and not (lowest <= int(topics.min()) and int(topics.max()) < n_components):
        raise ValueError(
            f"topics go from {topics.min()} to {topics.max()}; they must be at least {lowest} and below {n_components}."
        )
    return topics.astype(np.int32)


def run_chains(chains, n_sweeps, *, n_jobs=None, listener=None, keep_every=None):
    """Sweep chains side by side.

    Parameters
    ----------
    chains : list of GibbsChain
    n_sweeps : int
        Sweeps of each chain.
    n_jobs : int, default=None
        Chains at a time, as in joblib, or blocks of documents of a single chain; the draws do not depend on it.
    keep_every : int, default=None
        Sweeps between the topics that go into ``chain.kept``.
    listener : object, default=None
        ``listener.before(index)`` is called before every sweep of chain `index`, and ``listener.after(index, chain)``
        after it; that chain ends when the latter returns True.

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps (other objects than went in, where joblib's backend uses processes).
    """
    if len(chains) == 1:
        # It has all cores to itself.
        return [chains[0].on_cores(n_jobs, lambda stop: _run(0, chains[0], n_sweeps, listener, keep_every, stop))]
    tasks = [(index, chain, n_sweeps, listener, keep_every) for index, chain in enumerate(chains)]
    # A listener may want to be in the thread of the caller.
    return side_by_side(_run, tasks, n_jobs, aside=False)


def _run(index, chain, n_sweeps, listener, keep_every, stop):
    for _ in range(n_sweeps):
        if listener is not None:
            listener.before(index)
        chain.sweep(stop)
        stop()
        chain.trace.append(chain.log_joint())
        if keep_every and chain.n_sweeps % keep_every == 0:
            chain.kept.append((chain.n_sweeps, chain.topic_word()))
        if listener is not None and listener.after(index, chain):
            break
    return chain
