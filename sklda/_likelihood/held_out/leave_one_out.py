"""Leave-one-out predictive likelihood: the likelihood of each document given all others, at given priors.

For document d, L_d = p(w_d | words of the others) = p(w) / p(words of the others) is a ratio of two normalising
constants. Let z be the topics of the other documents. Annealing over the topics of document d gives an unbiased
estimate of p(w_d | z), with theta and phi integrated out. Annealing in the reverse direction, from a draw given all
documents, gives an unbiased estimate of the inverse. So there are log weights f and b with

    E exp(f) = L_d       f from chains without the document,
    E exp(-b) = 1 / L_d  b from a chain with all documents.

Bennett's acceptance ratio (the optimal bridge of Meng & Wong) combines the two. Either direction can also be used
alone. The first is the direct Monte Carlo estimate of George & Doss, equation 5.1, whose logarithm is too low on
average. The second is the harmonic mean over one chain of all documents, whose logarithm is too high on average.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import in_parallel
from sklda._kernels import _leave_one_out
from sklda._kernels._leave_one_out import GUIDE_ROWS
from sklda._likelihood.held_out.averages import bennett, log_mean
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

# CVB0 iterations that make the guide, and its strength at the first and the last temperature.
_GUIDE_ITERATIONS, _FIRST_STRENGTH, _LAST_STRENGTH = 10, 10.0, 0.01
# Tokens. A longer document is left out in pieces of about equal length, because the variance of the log weights grows
# with the number of tokens that are left out at a time.
_PIECE = 200
# Sweeps between two draws given all documents. One chain serves all documents, so more sweeps cost little.
_SWEEPS_PER_DRAW = 5
# Batches of draws for the jackknife.
_BATCHES = 5


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log weights of the pieces of documents, in both directions."""

    documents: np.ndarray  # (n_left_out,)
    piece_documents: np.ndarray  # (n_pieces,): the position in `documents` of each piece
    # Log weights f and b (see above) given the earlier pieces of the document, (n_pieces, n_draws).
    forward: np.ndarray
    backward: np.ndarray

    def log_likelihood(self, draws=slice(None)):
        """log L_d by Bennett's acceptance ratio with the chosen draws, in nats; (n_left_out,).

        A probability is at most 1, so an estimate above 0 is set to 0.
        """
        return np.minimum(self._sum(bennett(self.forward[:, draws], self.backward[:, draws])), 0.0)

    def one_sided(self):
        """log L_d from the forward weights alone, and from the backward weights alone; two arrays (n_left_out,)."""
        return self._sum(log_mean(self.forward, axis=1)), self._sum(-log_mean(-self.backward, axis=1))

    def jackknife(self):
        """log L_d with each batch of draws left out in turn; (n_batches, n_left_out)."""
        n_draws = self.forward.shape[1]
        batch = np.arange(n_draws) * min(_BATCHES, n_draws) // n_draws
        return np.array([self.log_likelihood(batch != b) for b in range(batch[-1] + 1)])

    def _sum(self, values):
        return np.bincount(self.piece_documents, weights=values, minlength=len(self.documents))


def leave_one_out(chain, documents, *, n_draws=100, n_temperatures=30, seed, n_jobs=None):
    """Draw the log weights of documents, each of which is left out in turn; a `LeaveOneOut`.

    The chain, a `GibbsChain` after its burn-in, continues with all documents: 5 sweeps for each draw. For each document
    there is another chain without the document, whose initial state is a state of the first chain, with one sweep for
    each draw. Its burn-in has a quarter as many sweeps as there are draws.
    """
    corpus = chain.corpus
    strengths = np.geomspace(_FIRST_STRENGTH, _LAST_STRENGTH, n_temperatures)
    pieces = [_cut(corpus, d) for d in documents]
    rng = np.random.default_rng(random.child(seed, 0))
    last, initial = [], []
    blocks = np.array_split(np.arange(len(documents)), -(-len(documents) // 16))
    for draw in range(n_draws):
        for _ in range(_SWEEPS_PER_DRAW):
            chain.sweep()
        keys = rng.integers(2**64, size=len(documents), dtype=np.uint64)
        work = [[(documents[i], pieces[i], keys[i]) for i in block] for block in blocks]
        parts = in_parallel(_last_pieces, [(chain, each, strengths) for each in work], n_jobs)
        last.append(np.concatenate(parts))
        if (draw + 1) * _BATCHES % n_draws < _BATCHES:
            initial.append(chain.topics.copy())
    tasks = [
        (chain, d, initial[i % len(initial)], of_document, n_draws, strengths, random.child(seed, 1, int(d)))
        for i, (d, of_document) in enumerate(zip(documents, pieces, strict=True))
    ]
    parts = in_parallel(_leave_out, tasks, n_jobs)
    last = np.array(last).T
    return LeaveOneOut(
        documents=np.asarray(documents),
        piece_documents=np.repeat(np.arange(len(documents)), [len(of_document) for of_document in pieces]),
        forward=np.concatenate([forward for forward, _ in parts]),
        # The backward weights of the last piece of each document come from the chain with all documents.
        backward=np.concatenate([np.vstack([backward, row]) for (_, backward), row in zip(parts, last, strict=True)]),
    )


def _cut(corpus, d):
    """The token ranges of the pieces of a document. A short document has one piece, an empty one an empty piece."""
    first, last = int(corpus.offsets[d]), int(corpus.offsets[d + 1])
    edges = np.linspace(first, last, 1 + max(1, -(-(last - first) // _PIECE))).astype(int)
    return list(itertools.pairwise(edges.tolist()))


def _last_pieces(chain, work, strengths, stop):
    """Backward weights of the last pieces of documents, given all documents."""
    log_weights = np.empty(len(work))
    for i, (d, pieces, key) in enumerate(work):
        stop()
        log_weights[i] = -_anneal(chain, d, chain.corpus, pieces[-1], strengths, key, True)
    return log_weights


def _leave_out(chain, d, topics, pieces, n_draws, strengths, seed, stop):
    """Forward weights of all pieces, (n_pieces, n_draws), and backward weights of all but the last piece."""
    forward, backward = np.zeros((len(pieces), n_draws)), np.zeros((len(pieces) - 1, n_draws))
    corpus = chain.corpus
    if not corpus.lengths[d]:
        return forward, backward
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    end = corpus.offsets[d + 1]
    for j in reversed(range(len(pieces))):
        # The chain does not have the tokens of this piece and of later pieces.
        removed = np.s_[pieces[j][0] : end]
        offsets = corpus.offsets.copy()
        offsets[d + 1 :] -= end - pieces[j][0]
        rest = Corpus(np.delete(corpus.words, removed), offsets, corpus.n_features)
        without = GibbsChain(rest, chain.priors, ChainState(np.delete(topics, removed), stream))
        for i in range(-(n_draws // 4), n_draws):
            without.sweep(stop)
            if i >= 0:
                keys = rng.integers(2**64, size=2, dtype=np.uint64)
                forward[j, i] = _anneal(without, d, corpus, pieces[j], strengths, keys[0], False)
                if j:
                    backward[j - 1, i] = -_anneal(without, d, corpus, pieces[j - 1], strengths, keys[1], True)
        # The next chain continues from the end of this one, with one more piece removed.
        topics, stream = np.insert(without.topics, pieces[j][0], np.zeros(end - pieces[j][0], np.int32)), without.stream
    return forward, backward


def _anneal(chain, d, corpus, piece, strengths, key, backward):
    """Log weight of a piece of document d. If `backward`, the chain has these tokens; otherwise it does not."""
    first, last = piece
    if first == last:
        return 0.0
    priors = chain.priors
    # Only the rows of its words: those of the whole vocabulary would be made anew for every piece and draw.
    words, index = np.unique(corpus.words[first:last], return_inverse=True)
    counts = chain.rows.dense(words)
    K, (n_words, width) = priors.n_components, counts.shape
    prior = priors.doc_of([d])[0]
    # The topic counts of earlier pieces of the document are added to the prior of theta.
    prior = prior + np.bincount(chain.topics[corpus.offsets[d] : first], minlength=K)
    length = last - first
    log_weight = np.empty(1)
    _leave_one_out.evidence(
        index.astype(np.int32),
        np.array([0, length], np.int64),
        np.array([key]),
        prior[None],
        priors.word[words] if len(priors.word) else priors.word,
        priors.topic[words] if len(priors.topic) else priors.topic,
        priors.totals,
        counts,
        chain.topic_totals,
        chain.topics[first:last] if backward else np.empty(0, np.int32),
        strengths,
        _GUIDE_ITERATIONS,
        backward,
        log_weight,
        np.empty((4, length), np.int32),
        np.empty((n_words, width)),
        np.empty((2 * n_words + GUIDE_ROWS, width), np.float32),
        np.empty((n_words + 1, width), np.int32),
        np.empty((5, width)),
        np.empty(4, np.uint64),
    )
    return log_weight[0]
