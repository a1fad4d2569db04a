"""The topic counts of words, m_kv, in rows of 16 bits, and in rows of 32 bits for words with more tokens."""

from math import prod

import numpy as np

from sklda._kernels import _histograms, _log_joint, _tokens
from sklda._sampling import log_joint

# The largest number in 16 bits.
_LARGEST_SHORT = 2**16 - 1
# Bytes of a cache line.
_LINE = 64


class CountRows:
    """m_kv, one row for each word.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features,)
        Number of tokens of every word. No count may become larger.
    width : int
        Length of a row; the columns from the number of topics on are zero.
    largest : int, default=None
        The number of tokens up to which the row of a word has 16 bits. None: 65,535.

    Attributes
    ----------
    arrays : tuple of ndarray
        The arguments of kernels: rows of 16 bits (n_features, width), rows of 32 bits (n_long, width), and the index of
        the row of 32 bits of every word, or -1, int32 (n_features,). The index is empty if no word has such a row.
    """

    def __init__(self, frequencies, width, largest=None):
        self.long_words = np.flatnonzero(frequencies > (_LARGEST_SHORT if largest is None else largest))
        place = np.full(len(frequencies) if len(self.long_words) else 0, -1, np.int32)
        place[self.long_words] = np.arange(len(self.long_words))
        self.arrays = (
            aligned_zeros((len(frequencies), width), np.uint16),
            aligned_zeros((len(self.long_words), width), np.int32),
            place,
        )

    @classmethod
    def of(cls, corpus, topics, width, totals, largest=None):
        """The counts of a corpus.

        Parameters
        ----------
        corpus : Corpus
        topics : ndarray of shape (n_tokens,), int32
            -1 for a token that has no topic yet.
        width : int
        totals : ndarray of shape (n_components,), int64
            m_k. It is added.
        largest : int, default=None
        """
        rows = cls(corpus.word_frequencies, width, largest)
        _tokens.count_rows(corpus.words, topics, *rows.arrays, totals)
        return rows

    def change(self, cells, differences):
        """Add `differences` to the counts at different `cells`, indices into the flat array of `dense`."""
        short, long, place = self.arrays
        if len(place):
            words, topics = np.divmod(cells, short.shape[1])
            rows = place[words]
            far = rows >= 0
            long[rows[far], topics[far]] += differences[far]
            cells, differences = cells[~far], differences[~far]
        # Unsigned numbers are added modulo 2^16, so that negative differences are subtracted.
        short.reshape(-1)[cells] += differences.astype(np.uint16)

    def dense(self, words=slice(None)):
        """A copy of the rows of some words, or of all, int32 (n_words, width)."""
        short, long, place = self.arrays
        counts = short[words].astype(np.int32)
        if len(place):
            rows = place[words]
            counts[rows >= 0] = long[rows[rows >= 0]]
        return counts

    def log_words(self, priors, first=0, last=None):
        """The part of log p(w | z, eta) of the words from `first` to `last` - 1, without the totals of the topics."""
        short, long, _ = self.arrays
        words = slice(first, len(short) if last is None else last)
        places = slice(*np.searchsorted(self.long_words, [words.start, words.stop]))
        result = 0.0
        for rows, of in ((short[words], words), (long[places], self.long_words[places])):
            if len(rows):
                offsets, counts = np.arange(len(rows) + 1) * rows.shape[1], rows.reshape(-1)
                result += _log_joint.rows(offsets, counts, *log_joint.word_priors(priors, rows.size, of))
        return result

    def histogram(self):
        """How often each m_kv > 0 occurs, int64 (largest m_kv + 1,)."""
        parts = self.arrays[:2]
        histogram = np.zeros(1 + max(int(part.max(initial=0)) for part in parts), np.int64)
        for part in parts:
            _histograms.words(part, histogram)
        return histogram


def aligned_zeros(shape, dtype):
    """An array of zeros that begins at a cache line: vectors of 64 bytes then lie in one line each."""
    size = prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % _LINE
    return memory[start : start + size].view(dtype).reshape(shape)
