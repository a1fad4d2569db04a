"""Draws of the topic proportions of new documents, given the topics."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sklda._core.diagnostics import std_of_proportions
from sklda._core.parallel import in_parallel
from sklda._kernels import LANES, _fold_in
from sklda._likelihood.held_out.document_block import document_blocks, word_rows
from sklda._likelihood.held_out.fold_in import MOST_UPDATES, TOLERANCE

# Sweeps before the first draw. CVB0 begins the chain, so few are enough.
_BURN_IN = 20
# Sweeps from one draw to the next.
_BETWEEN = 2


@dataclass(eq=False)
class ProportionMoments:
    """Sums over draws of z, from which means and standard deviations of theta are computed.

    Attributes
    ----------
    n_draws : int
    expected, counts, squares : ndarray of shape (n_documents, n_components)
        Of the expected n_dk by the full conditionals of the tokens, of n_dk, and of its square.
    alpha : ndarray of shape (1 or n_documents, n_components)
    """

    n_draws: int
    expected: np.ndarray
    counts: np.ndarray
    squares: np.ndarray
    alpha: np.ndarray

    def add(self, other: Self) -> None:
        """Add the draws of other topics, of the same documents."""
        self.n_draws += other.n_draws
        for name in ("expected", "counts", "squares"):
            getattr(self, name).__iadd__(getattr(other, name))

    def mean(self) -> np.ndarray:
        """E(theta | w). The full conditionals have less noise than the topics that were drawn from them."""
        theta = self.expected / self.n_draws + self.alpha
        return theta / theta.sum(axis=1, keepdims=True)

    def std(self) -> np.ndarray:
        """The root of the mean of Var(theta | z), a Dirichlet's, plus the variance of E(theta | z)."""
        sizes = (self.counts / self.n_draws + self.alpha).sum(axis=1, keepdims=True)
        mean = (self.counts / self.n_draws + self.alpha) / sizes
        between = (self.squares / self.n_draws - (self.counts / self.n_draws) ** 2) / sizes**2
        square = mean**2 + between
        return std_of_proportions((mean - square) / (sizes + 1) + between)


def draw_proportions(corpus, topic_word, doc_topic_prior, draws, *, seed=None, keys=None, n_jobs=None, copies=None):
    """Draw theta of documents from p(theta | w, phi, alpha) by the chain of `fold_in`; `ProportionMoments`.

    Parameters
    ----------
    corpus : Corpus
    topic_word, doc_topic_prior : ndarray
        As for `fold_in`.
    draws : ndarray of shape (n_draws, n_documents, n_components), float32
        Where theta of every draw is written.
    seed : int
        64 bits. The stream of a document depends only on it and on the words of the document.
    keys : ndarray of shape (n_documents,), uint64
        The seeds of the documents, in place of `seed`.
    copies : ndarray of shape (n_documents,), uint64, default=None
        See `Corpus.document_keys`. None: the draws of equal documents are the same.
    """
    keys = corpus.document_keys(seed, copies) if keys is None else keys
    rows, word_topic, largest = word_rows(corpus, topic_word)
    scale = largest.astype(np.float32)
    if not len(word_topic):
        # The kernel needs a row, though no document has a word.
        word_topic, scale = np.zeros((1, word_topic.shape[1]), np.float32), np.ones(1, np.float32)
    blocks = document_blocks(corpus, rows, keys, word_topic, doc_topic_prior)
    parts = in_parallel(_draw_block, ((block, scale, len(draws)) for block in blocks), n_jobs)
    sums = np.zeros((3, corpus.n_documents, len(topic_word)))
    end = 0
    while parts:
        own_sums, own_draws = parts.pop(0)
        begin, end = end, end + own_sums.shape[1]
        sums[:, begin:end] = own_sums
        draws[:, begin:end] = own_draws
    expected, counts, squares = sums
    return ProportionMoments(len(draws), expected, counts, squares, doc_topic_prior)


def _draw_block(block, scale, n_draws, stop):
    shape = block.n_documents, block.prior.shape[1]
    sums, draws = np.empty((3, *shape)), np.empty((n_draws, *shape), np.float32)
    _fold_in.draw_doc_topic(
        *block.arguments,
        _BURN_IN,
        _BETWEEN,
        MOST_UPDATES,
        TOLERANCE,
        scale,
        *sums,
        draws,
        np.empty((3, block.longest), np.int32),
        block.floats(block.most_distinct),
        block.floats(_fold_in.FLOAT_ROWS),
        block.counts(),
        np.empty(block.width // LANES),
        np.empty(shape[1]),
        stop.flag,
    )
    return sums, draws
