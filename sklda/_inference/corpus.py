"""A corpus as arrays of tokens, and its conversion from and to a matrix of counts."""

import hashlib
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from sklda._inference.counts import LARGEST_COUNT, read_counts
from sklda._inference.parallel import Aligned
from sklda._kernels import _tokens


@dataclass(frozen=True, eq=False)
class Corpus(Aligned):
    """The tokens of all documents, document by document.

    Parameters
    ----------
    words : ndarray of shape (n_tokens,), int32
        Word ids, in ascending order within a document. A word of count c is repeated c times.
    offsets : ndarray of shape (n_documents + 1,), int64
        Document d has the tokens ``words[offsets[d]:offsets[d + 1]]``.
    n_features : int
        Size of the vocabulary.
    """

    words: np.ndarray
    offsets: np.ndarray
    n_features: int

    @classmethod
    def from_counts(cls, X, validate=check_array):
        """The corpus of a document-term matrix.

        Parameters
        ----------
        X : array-like or scipy sparse matrix of shape (n_documents, n_features)
            Non-negative whole numbers of any dtype. X is not changed.
        validate : callable, default=check_array
            See `read_counts`.

        Returns
        -------
        Corpus

        Raises
        ------
        ValueError
            See `read_counts`; also if a document or a word has 2^31 tokens or more.
        """
        X = read_counts(X, validate)
        counts = X.data.astype(np.int64, copy=False)
        # `reduceat` gives an element, and not zero, for an empty document.
        offsets, filled = np.zeros(X.shape[0] + 1, np.int64), X.indptr[:-1] < X.indptr[1:]
        offsets[1:][filled] = np.add.reduceat(counts, X.indptr[:-1][filled]) if len(counts) else 0
        np.cumsum(offsets, out=offsets)
        if offsets[-1] > LARGEST_COUNT:
            totals = {"document": np.diff(offsets), "word": np.bincount(X.indices, weights=counts)}
            for kind, n_tokens in totals.items():
                if n_tokens.max() > LARGEST_COUNT:
                    raise ValueError(
                        f"X has {n_tokens.max():.0f} tokens of {kind} {n_tokens.argmax()}, more than {LARGEST_COUNT}."
                    )
        words = np.repeat(X.indices.astype(np.int32, copy=False), counts)
        return cls(words, offsets, X.shape[1])

    def to_counts(self):
        """The document-term matrix, csr_matrix of shape (n_documents, n_features), int64."""
        # The words are copied because `sum_duplicates` works in place.
        X = sp.csr_matrix(
            (np.ones(self.n_tokens, np.int64), self.words.copy(), self.offsets),
            shape=(self.n_documents, self.n_features),
        )
        X.sum_duplicates()
        return X

    @property
    def n_tokens(self):
        return len(self.words)

    @property
    def n_documents(self):
        return len(self.offsets) - 1

    @cached_property
    def lengths(self):
        """Number of tokens of every document, int64 (n_documents,)."""
        return np.diff(self.offsets)

    @cached_property
    def length_histogram(self):
        """Number of documents of each length, without empty documents, int64 (longest + 1,)."""
        histogram = np.bincount(self.lengths, minlength=1)
        histogram[0] = 0
        return histogram

    @cached_property
    def distinct_lengths(self):
        """The different lengths of documents that are not empty, and how many documents have each, int64."""
        lengths = np.flatnonzero(self.length_histogram)
        return lengths, self.length_histogram[lengths]

    @cached_property
    def word_frequencies(self):
        """Number of tokens of every word, int64 (n_features,)."""
        return count_tokens(self.words, self.n_features)

    @property
    def token_documents(self):
        """The document of every token, int64 (n_tokens,)."""
        return np.repeat(np.arange(self.n_documents), self.lengths)

    @cached_property
    def fingerprint(self):
        """Hash of the whole content. Equal corpora have equal fingerprints."""
        digest = hashlib.blake2b(np.int64(self.n_features).tobytes(), digest_size=16)
        digest.update(self.offsets)
        digest.update(self.words)
        return digest.hexdigest()

    def take(self, documents):
        """The corpus of some documents, in the order of their indices."""
        lengths = self.lengths[documents]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        shifts = np.repeat(self.offsets[documents] - offsets[:-1], lengths)
        return Corpus(self.words[np.arange(offsets[-1]) + shifts], offsets, self.n_features)

    def document_keys(self, seed):
        """A 64-bit seed for every document, computed from `seed` and the document's words; uint64 (n_documents,)."""
        keys = np.empty(self.n_documents, np.uint64)
        _tokens.document_keys(self.words, self.offsets, seed, keys)
        return keys

    def blocks(self, n_tokens=None, n_documents=None):
        """Cut the corpus into blocks of about `n_tokens` tokens, or of exactly `n_documents` documents.

        Returns
        -------
        list of (first, last)
            Half-open ranges of document indices. Together they cover the corpus, in order.
        """
        if n_documents is not None:
            edges = np.arange(0, self.n_documents, n_documents)
        else:
            marks = np.arange(0, self.n_tokens, max(int(n_tokens), 1))
            edges = np.searchsorted(self.offsets, marks, side="right") - 1
        edges = np.unique(np.concatenate([[0], edges, [self.n_documents]]))
        return list(itertools.pairwise(edges.tolist()))


def count_tokens(values, n_values):
    """Number of tokens of every word, or of every topic, int64 (n_values,)."""
    # In parts, because `bincount` makes a copy in 64 bits.
    return sum(np.bincount(part, minlength=n_values) for part in small_parts(values))


def small_parts(values):
    """The values of all tokens in parts, so that a computation needs little memory."""
    return np.array_split(values, 1 + len(values) // 2**18)
