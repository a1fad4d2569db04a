"""Priors that move along a line, between the sweeps of a chain."""

from dataclasses import dataclass

import numpy as np

from sklda._core.parallel import Aligned
from sklda._core.priors import Priors


@dataclass(frozen=True, eq=False)
class PriorPath(Aligned):
    """The priors alpha + s a and eta + s b at positions s. `GibbsChain.anneal` follows such a path.

    Attributes
    ----------
    base : Priors
        alpha and eta.
    doc_slope : ndarray of shape (n_rows, n_components)
        The distinct rows of a.
    slope_row_of : ndarray of shape (n_documents,) or (0,), int32
        The row of a of each document. Empty: all documents share the only row.
    word_slope : ndarray of shape (n_features,) or (0,)
        b if all topics share it; otherwise empty.
    topic_slope : ndarray of shape (n_features, n_components) or (0, n_components)
        b if each topic has its own, one row for each word; otherwise empty.
    positions : ndarray of shape (n_positions,)
        s.
    """

    base: Priors
    doc_slope: np.ndarray
    slope_row_of: np.ndarray
    word_slope: np.ndarray
    topic_slope: np.ndarray
    positions: np.ndarray

    @classmethod
    def multiples(cls, priors, factors):
        """The path along which both priors are multiplied by `factors`."""
        K = priors.n_components
        topic = np.ascontiguousarray(priors.topic[:, :K], dtype=np.float64)
        return cls(priors, priors.doc, priors.row_of, priors.word, topic, np.asarray(factors) - 1)

    def priors_at(self, position):
        """The `Priors` at a position."""
        base, K = self.base, self.base.n_components
        doc, row_of = self._alpha_at(position)
        if len(base.word) and len(self.word_slope):
            word = base.word + position * self.word_slope
            return Priors(doc, word, base.topic, np.full(K, word.sum()), row_of)
        slope = self.word_slope[:, None] if len(self.word_slope) else self.topic_slope
        topic = np.zeros((len(slope), base.topic.shape[1]), np.float32)
        topic[:, :K] = base.topic_word().T + position * slope
        return Priors(doc, np.empty(0), topic, topic[:, :K].sum(axis=0, dtype=np.float64), row_of)

    def _alpha_at(self, position):
        """The rows of alpha at a position, and the row of each document."""
        base, slope, row_of = self.base, self.doc_slope, self.slope_row_of
        if not len(row_of) or not len(base.row_of) or np.array_equal(row_of, base.row_of):
            return base.doc + position * slope, base.row_of if len(base.row_of) else row_of
        # The documents are divided differently, so each has its own row.
        return base.doc_of() + position * slope[row_of], np.arange(len(row_of), dtype=np.int32)
