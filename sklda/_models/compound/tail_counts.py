"""Counts of topics by collection, in the form that the distribution of z given the mixtures depends on."""

from dataclasses import dataclass

import numpy as np

from sklda._kernels import _compound


@dataclass(frozen=True, eq=False)
class TailCounts:
    """For each collection and topic: the number of documents with more than i tokens of the topic, i = 0, 1, ...

    p(z | pi, gamma) depends on z through these counts only. For collection j and topic k, with a = gamma pi_jk, the sum
    over documents of log Gamma(a + n_dk) - log Gamma(a) is the sum over i of ``documents * log(a + i)``.

    Attributes
    ----------
    cells : ndarray of shape (n_entries,), int64
        j * n_components + k, ascending.
    steps : ndarray of shape (n_entries,), int64
        i.
    documents : ndarray of shape (n_entries,), int64
    shape : tuple
        (n_collections, n_components).
    """

    cells: np.ndarray
    steps: np.ndarray
    documents: np.ndarray
    shape: tuple

    @classmethod
    def count(cls, corpus, topics, collections, shape, scratch_counts):
        largest = np.zeros(shape, np.int64)
        _compound.largest_counts(corpus.offsets, topics, collections, largest, scratch_counts)
        starts = (np.cumsum(largest.ravel()) - largest.ravel()).reshape(shape)
        documents = np.zeros(largest.sum(), np.int64)
        _compound.tail_counts(corpus.offsets, topics, collections, starts, documents, scratch_counts)
        cells = np.repeat(np.arange(largest.size), largest.ravel())
        return cls(cells, np.arange(len(cells)) - starts.ravel()[cells], documents, shape)

    def sums(self, terms):
        """Sums of ``documents * terms`` over the entries of every cell; float64 of `shape`."""
        return np.bincount(self.cells, self.documents * terms, minlength=np.prod(self.shape)).reshape(self.shape)
