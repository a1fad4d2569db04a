"""Leave-one-out predictive likelihood: how likely each document is given all others, at given priors.

For document d, L_d = p(w_d | w of the others) = p(w) / p(w of the others), a ratio of two normalising constants. Given
the topics z of the others, annealing over the document's own topics estimates p(w_d | z) without bias, theta and phi
integrated out; backwards, from a draw given all documents, it estimates the inverse. So, with weights on both sides,

    E exp(f) = L_d      for f from chains that never saw the document,
    E exp(-b) = 1 / L_d for b from a chain that saw it,

and Bennett's acceptance ratio (Meng & Wong's optimal bridge) joins the two. Each side alone is what others use: the
first is direct Monte Carlo as in George & Doss, equation 5.1, whose logarithm is too low on average; the second is the
harmonic mean over one chain of all documents, whose logarithm is too high.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.parallel import side_by_side
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._kernels import _leave_one_out

# CVB0 iterations behind the guide, and the range of its strength.
_GUIDE_ITERATIONS, _STRONGEST, _WEAKEST = 10, 10.0, 0.01
# A longer document is left out piece by piece: how far the weights spread grows with what is left out at a time.
_PIECE = 200
# Sweeps between the draws given all documents: one chain serves all, and can be thinned at little cost.
_THIN = 5
_BATCHES = 5


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log weights of the pieces of documents, in both directions.

    Attributes
    ----------
    documents : ndarray of shape (n_left_out,)
    piece_documents : ndarray of shape (n_pieces,)
        The position in `documents` that each piece belongs to.
    forward, backward : ndarray of shape (n_pieces, n_draws)
        f and b of the module's docstring, given the document's earlier pieces.
    """

    documents: np.ndarray
    piece_documents: np.ndarray
    forward: np.ndarray
    backward: np.ndarray

    def log_likelihood(self, draws=slice(None)):
        """log L_d by Bennett's acceptance ratio on some of the draws, nats; (n_left_out,)."""
        return self._sum(bennett(self.forward[:, draws], self.backward[:, draws]))

    def one_sided(self):
        """log L_d by the forward weights alone and by the backward weights alone; two of (n_left_out,)."""
        log_n = np.log(self.forward.shape[1])
        return (
            self._sum(logsumexp(self.forward, axis=1) - log_n),
            self._sum(log_n - logsumexp(-self.backward, axis=1)),
        )

    def jackknife(self):
        """log L_d with one of the batches of draws left out; (n_batches, n_left_out)."""
        n_draws = self.forward.shape[1]
        batch = np.arange(n_draws) * min(_BATCHES, n_draws) // n_draws
        return np.array([self.log_likelihood(batch != b) for b in range(batch[-1] + 1)])

    def _sum(self, values):
        return np.bincount(self.piece_documents, weights=values, minlength=len(self.documents))


def leave_one_out(chain, documents, *, n_draws=100, n_temperatures=30, seed, n_jobs=None):
    """Draw the weights of documents, each left out in turn.

    The chain goes on with all documents. For every document, another chain starts from one of its states with the
    document taken away, and a quarter of its draws are thrown away first.

    Parameters
    ----------
    chain : GibbsChain
        Burnt in. It is swept 5 times a draw.
    documents : ndarray of int
        Those to leave out.
    n_draws : int, default=100
        From each of the chains, one sweep apart where the document is left out.
    n_temperatures : int, default=30
        Sweeps over the document in each annealing run.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
        Documents at a time, as in joblib; results do not depend on it.

    Returns
    -------
    LeaveOneOut
    """
    corpus = chain.corpus
    strengths = np.geomspace(_STRONGEST, _WEAKEST, n_temperatures)
    pieces = [_cut(corpus, d) for d in documents]
    rng = np.random.default_rng(random.child(seed, 0))
    last, starts = [], []
    blocks = np.array_split(np.arange(len(documents)), -(-len(documents) // 16))
    for draw in range(n_draws):
        for _ in range(_THIN):
            chain.sweep()
        keys = rng.integers(2**64, size=len(documents), dtype=np.uint64)
        work = [[(documents[i], pieces[i], keys[i]) for i in block] for block in blocks]
        parts = side_by_side(_last_pieces, [(chain, each, strengths) for each in work], n_jobs)
        last.append(np.concatenate(parts))
        if (draw + 1) * _BATCHES % n_draws < _BATCHES:
            starts.append(chain.topics.copy())
    tasks = [
        (chain, d, starts[i % len(starts)], own, n_draws, strengths, random.child(seed, 1, int(d)))
        for i, (d, own) in enumerate(zip(documents, pieces, strict=True))
    ]
    parts = side_by_side(_leave_out, tasks, n_jobs)
    last = np.array(last).T
    return LeaveOneOut(
        np.asarray(documents),
        np.repeat(np.arange(len(documents)), [len(own) for own in pieces]),
        np.concatenate([forward for forward, _ in parts]),
        # The backward weights of a last piece come from the chain of all documents.
        np.concatenate([np.vstack([backward, own]) for (_, backward), own in zip(parts, last, strict=True)]),
    )


def bennett(forward, backward):
    """log Z such that E exp(forward) = Z and E exp(-backward) = 1 / Z, by Bennett's acceptance ratio.

    Parameters
    ----------
    forward, backward : ndarray of shape (n, n_draws)
        Log weights; as many on both sides.

    Returns
    -------
    ndarray of shape (n,)
        The root of sum expit(forward - L) = sum expit(L - backward), which lies between the extremes (Bennett 1976;
        Meng & Wong 1996, equation 4.1).
    """
    low = np.minimum(forward.min(axis=1), backward.min(axis=1))
    high = np.maximum(forward.max(axis=1), backward.max(axis=1))
    for _ in range(60):
        middle = (low + high) / 2
        excess = expit(forward - middle[:, None]).sum(axis=1) - expit(middle[:, None] - backward).sum(axis=1)
        low, high = np.where(excess > 0, middle, low), np.where(excess > 0, high, middle)
    return (low + high) / 2


def _cut(corpus, d):
    """The token ranges of the pieces of a document; one, perhaps empty, if it is short."""
    first, last = int(corpus.offsets[d]), int(corpus.offsets[d + 1])
    edges = np.linspace(first, last, 1 + max(1, -(-(last - first) // _PIECE))).astype(int)
    return list(itertools.pairwise(edges.tolist()))


def _last_pieces(chain, work, strengths, stop):
    log_weights = np.empty(len(work))
    for i, (d, own, key) in enumerate(work):
        stop()
        log_weights[i] = -_anneal(chain, d, chain.corpus, own[-1], strengths, key, True)
    return log_weights


def _leave_out(chain, d, topics, pieces, n_draws, strengths, seed, stop):
    """Forward weights of all pieces and backward weights of all but the last; (n_pieces or less by one, n_draws)."""
    forward, backward = np.zeros((len(pieces), n_draws)), np.zeros((len(pieces) - 1, n_draws))
    corpus = chain.corpus
    if not corpus.lengths[d]:
        return forward, backward
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    end = corpus.offsets[d + 1]
    for j in reversed(range(len(pieces))):
        # The document's tokens from this piece on are gone.
        gone = np.s_[pieces[j][0] : end]
        offsets = corpus.offsets.copy()
        offsets[d + 1 :] -= end - pieces[j][0]
        rest = Corpus(np.delete(corpus.words, gone), offsets, corpus.n_features)
        without = GibbsChain(rest, chain.priors, ChainState(np.delete(topics, gone), stream))
        for i in range(-(n_draws // 4), n_draws):
            without.sweep(stop)
            if i >= 0:
                keys = rng.integers(2**64, size=2, dtype=np.uint64)
                forward[j, i] = _anneal(without, d, corpus, pieces[j], strengths, keys[0], False)
                if j:
                    backward[j - 1, i] = -_anneal(without, d, corpus, pieces[j - 1], strengths, keys[1], True)
        # The next chain starts where this one ends, without one piece more.
        topics, stream = np.insert(without.topics, pieces[j][0], np.zeros(end - pieces[j][0], np.int32)), without.stream
    return forward, backward


def _anneal(chain, d, corpus, piece, strengths, key, backward):
    """Log weight of tokens of document d: backward, of tokens that the chain has; else of tokens that it has not."""
    first, last = piece
    if first == last:
        return 0.0
    priors = chain.priors
    K, width = priors.n_components, chain.word_topic_counts.shape[1]
    prior = priors.doc[d if len(priors.doc) > 1 else 0]
    # Earlier tokens of the document add to the prior of theta.
    prior = prior + np.bincount(chain.topics[corpus.offsets[d] : first], minlength=K)
    length = last - first
    log_weight = np.empty(1)
    _leave_one_out.evidence(
        corpus.words[first:last],
        np.array([0, length], np.int64),
        np.array([key]),
        prior[None],
        priors.word,
        priors.topic,
        priors.totals,
        chain.word_topic_counts,
        chain.topic_totals,
        chain.topics[first:last] if backward else np.empty(0, np.int32),
        strengths,
        _GUIDE_ITERATIONS,
        backward,
        log_weight,
        np.empty((2, length), np.int32),
        np.empty((length, width)),
        np.empty((2 * length + 3, width), np.float32),
        np.empty((length + 1, width), np.int32),
        np.empty((5, width)),
        np.empty(4, np.uint64),
    )
    return log_weight[0]
