"""A corpus as arrays of tokens, and its conversion from and to a matrix of counts."""

import hashlib
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from sklda._core.parallel import Aligned
from sklda._core.random import GOLDEN_GAMMA
from sklda._input.counts import LARGEST_COUNT, read_counts, row_blocks
from sklda._input.dask_arrays import blocks_of, check_shape, is_dask
from sklda._kernels import _tokens

# Entries of a block of rows: a larger X is read in blocks, so that an X on disk does not need its size in memory.
_LARGE = 2**22


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
        X : array-like, scipy sparse matrix or Dask array of shape (n_documents, n_features)
            Non-negative whole numbers of any dtype. X is not changed. Of a Dask array, one block at a time is computed.
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
        if is_dask(X):
            parts = []
            for i, (block, n_rows) in enumerate(zip(blocks_of(X), X.chunks[0], strict=True)):
                parts.append(cls.of_block(block.compute(), i, (n_rows, X.shape[1]), validate))
            return cls.joined(parts)
        if sp.issparse(X) and X.format in ("csr", "csc") and np.size(X.indices) > _LARGE:
            # Blocks of rows keep their small dtype until they are read.
            return cls.joined([cls._read(part, validate, first) for first, part in row_blocks(X, _LARGE)])
        return cls._read(X, validate)

    @classmethod
    def _read(cls, X, validate, first_row=0):
        X = read_counts(X, validate, first_row)
        counts = X.data.astype(np.int64, copy=False)
        # `reduceat` gives an element, and not zero, for an empty document.
        offsets, filled = np.zeros(X.shape[0] + 1, np.int64), X.indptr[:-1] < X.indptr[1:]
        offsets[1:][filled] = np.add.reduceat(counts, X.indptr[:-1][filled]) if len(counts) else 0
        np.cumsum(offsets, out=offsets)
        if offsets[-1] > LARGEST_COUNT:
            check_largest("document", np.diff(offsets), first_row)
            check_largest("word", np.bincount(X.indices, weights=counts))
        words = np.repeat(X.indices.astype(np.int32, copy=False), counts)
        return cls(words, offsets, X.shape[1])

    @classmethod
    def of_block(cls, block, number, shape, validate=check_array):
        """The corpus of a block of a Dask array, whose `shape` Dask has; NaN: a number of rows that is not known.

        Raises
        ------
        ValueError
            See `from_counts`; also if the block has another shape. The message names the block.
        """
        if getattr(block, "shape", (1,))[0] == 0:
            corpus = cls(np.empty(0, np.int32), np.zeros(1, np.int64), int(shape[1]))
        else:
            try:
                corpus = cls.from_counts(block, validate)
            except ValueError as error:
                raise ValueError(f"block {number} of X: {error}") from error
        check_shape(number, (corpus.n_documents, corpus.n_features), shape)
        return corpus

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
        """See `distinct_lengths_of`."""
        return distinct_lengths_of(self.length_histogram)

    @cached_property
    def word_frequencies(self):
        """Number of tokens of every word, int64 (n_features,)."""
        return tally(self.words, self.n_features)

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

    def part(self, first, last):
        """The corpus of the documents from `first` to `last` - 1, with the same words in memory."""
        offsets = self.offsets[first : last + 1]
        return Corpus(self.words[offsets[0] : offsets[-1]], offsets - offsets[0], self.n_features)

    @classmethod
    def joined(cls, parts):
        """The documents of several corpora, in order."""
        words = np.concatenate([part.words for part in parts])
        offsets = np.cumsum(np.concatenate([[0], *(part.lengths for part in parts)]))
        joined = cls(words, offsets, parts[0].n_features)
        if joined.n_tokens > LARGEST_COUNT:
            check_largest("word", joined.word_frequencies)
        return joined

    def take(self, documents):
        """The corpus of some documents, in the order of their indices."""
        lengths = self.lengths[documents]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        shifts = np.repeat(self.offsets[documents] - offsets[:-1], lengths)
        return Corpus(self.words[np.arange(offsets[-1]) + shifts], offsets, self.n_features)

    def document_keys(self, seed, copies=None):
        """A 64-bit seed for every document, computed from `seed` and the document's words; uint64 (n_documents,).

        Equal documents have different ones if the array `copies` has different numbers for them; see `copies`.
        """
        keys = np.empty(self.n_documents, np.uint64)
        _tokens.document_keys(self.words, self.offsets, seed, keys)
        # Multiples of an odd number are different keys, and those of zero the same.
        return keys if copies is None else keys + copies * np.uint64(GOLDEN_GAMMA)

    def copies(self):
        """How many equal documents stand before each document; uint64 (n_documents,)."""
        same = np.unique(self.document_keys(0), return_inverse=True)[1]
        n, order = np.bincount(same), np.argsort(same, kind="stable")
        found = np.empty(self.n_documents, np.uint64)
        found[order] = np.arange(self.n_documents) - (np.cumsum(n) - n)[same[order]]
        return found

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
        return list(itertools.pairwise(sorted({0, *edges.tolist(), self.n_documents})))


def check_largest(kind, n_tokens, first=0):
    """Refuse a word or a document with too many tokens."""
    if n_tokens.max(initial=0) > LARGEST_COUNT:
        raise ValueError(
            f"X has {n_tokens.max():.0f} tokens of {kind} {first + n_tokens.argmax()}, more than {LARGEST_COUNT}."
        )


def distinct_lengths_of(length_histogram):
    """The different lengths of documents that are not empty, and how many documents have each, int64."""
    lengths = np.flatnonzero(length_histogram)
    return lengths, length_histogram[lengths]


def tally(values, n_values):
    """Number of tokens of every word, or of every topic, int64 (n_values,)."""
    # In parts, because `bincount` makes a copy in 64 bits.
    return sum(np.bincount(part, minlength=n_values) for part in small_parts(values))


def small_parts(values):
    """The values of all tokens in parts, so that a computation needs little memory."""
    return [values[first : first + 2**18] for first in range(0, max(len(values), 1), 2**18)]
