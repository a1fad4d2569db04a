"""A chain of the collapsed Gibbs sampler, and chains side by side."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sklda._kernels import LANES, _collapsed, _log_joint, _tokens
from sklda.inference import random

# Python looks in between blocks of about this many weights: a tenth of a second.
_BLOCK_WEIGHTS = 2**27


@dataclass(frozen=True, eq=False)
class ChainState:
    """All that a chain needs to go on: topics (n_tokens,) int32, stream (4,) uint64, and the sweeps made."""

    topics: np.ndarray
    stream: np.ndarray
    n_sweeps: int = 0


class GibbsChain:
    """z, its counts, the priors and the stream of one Markov chain with target p(z | w, alpha, eta).

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
    state : ChainState
        Where it starts; the arrays are copied.
    trace : sequence of float
        ``log_joint()`` after the sweeps made so far.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z.
    word_topic_counts : ndarray of shape (n_features, width), int32
        m_kv by word, zero in the columns past ``n_components``.
    topic_totals : ndarray of shape (n_components,), int64
    trace : list of float
        ``log_joint()`` after every sweep made with ``run_chains``.
    """

    sampler = "dense"

    def __init__(self, corpus, priors, state, trace=()):
        self.corpus, self.priors = corpus, priors
        self.topics = np.array(state.topics, np.int32)
        self.stream = np.array(state.stream, np.uint64)
        self.n_sweeps = state.n_sweeps
        self.trace = list(trace)
        K, width = priors.n_components, priors.topic.shape[1]
        self.word_topic_counts = np.zeros((corpus.n_features, width), np.int32)
        self.topic_totals = np.zeros(K, np.int64)
        _tokens.count_topics(corpus.words, self.topics, self.word_topic_counts, self.topic_totals)
        self._blocks = corpus.blocks(n_tokens=_BLOCK_WEIGHTS // width)
        self._scratch = (
            np.empty((2, width), np.float32),
            np.empty(width, np.int32),
            np.empty(width // LANES),
        )

    def __reduce__(self):
        # Made anew from its state: arrays that reach another process may be read-only there.
        return type(self), (self.corpus, self.priors, self.snapshot(), self.trace)

    @classmethod
    def start(cls, corpus, priors, seed):
        """Begin with topics drawn uniformly at random from the SeedSequence `seed`."""
        rng = np.random.default_rng(random.child(seed, 0))
        topics = rng.integers(priors.n_components, size=corpus.n_tokens, dtype=np.int32)
        return cls(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1))))

    def sweep(self, should_stop=lambda: False):
        """Draw every token once from its full conditional; between blocks, end early if ``should_stop()``."""
        for first, last in self._blocks:
            if should_stop():
                return
            _collapsed.sweep(
                self.corpus.words,
                self.corpus.offsets,
                first,
                last,
                self.priors.doc,
                self.priors.word,
                self.priors.topic,
                self.priors.totals,
                self.topics,
                self.word_topic_counts,
                self.topic_totals,
                self.stream,
                *self._scratch,
            )
        self.n_sweeps += 1

    def log_joint(self):
        """log p(w, z | alpha, eta) with theta and phi integrated out, in nats."""
        return _log_joint.documents(
            self.corpus.offsets, self.topics, self.priors.doc, self._scratch[1]
        ) + _log_joint.words(
            self.word_topic_counts, self.topic_totals, self.priors.word, self.priors.topic, self.priors.totals
        )

    def snapshot(self):
        """A copy of the state, from which ``GibbsChain(corpus, priors, state)`` goes on draw for draw."""
        return ChainState(self.topics.copy(), self.stream.copy(), self.n_sweeps)


class _Flag:
    """Shared by threads; a process gets a copy of its own, which nothing raises."""

    raised = False


def run_chains(chains, n_sweeps, *, n_jobs=None, listener=None):
    """Sweep chains side by side.

    Parameters
    ----------
    chains : list of GibbsChain
    n_sweeps : int
        Sweeps of each chain.
    n_jobs : int, default=None
        Chains at a time, as in joblib; the draws do not depend on it.
    listener : callable, default=None
        ``listener(index, chain)`` is called after every sweep of chain `index`; that chain ends when it returns True.

    Returns
    -------
    list of GibbsChain
        The chains after their sweeps (other objects than went in, where joblib's backend uses processes).
    """
    flag = _Flag()
    try:
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_run)(index, chain, n_sweeps, listener, flag) for index, chain in enumerate(chains)
        )
    except BaseException:
        flag.raised = True
        raise


def _run(index, chain, n_sweeps, listener, flag):
    for _ in range(n_sweeps):
        chain.sweep(lambda: flag.raised)
        if flag.raised:
            break
        chain.trace.append(chain.log_joint())
        if listener is not None and listener(index, chain):
            break
    return chain
