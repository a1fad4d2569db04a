"""The topic counts of words, m_kv, in rows of 16 bits, and in rows of 32 bits for words with more tokens."""

import numpy as np

from sklda._inference.sampling import log_joint
from sklda._kernels import _histograms, _log_joint, _tokens

# The largest number in 16 bits.
_LARGEST_SHORT = 2**16 - 1
# Bytes of a cache line.
_LINE = 64


class CountRows:
    """m_kv, one row for each word.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
        -1 for a token that has no topic yet.
    width : int
        Length of a row; the columns from ``len(totals)`` on are zero.
    totals : ndarray of shape (n_components,), int64
        m_k. It is added.
    largest : int, default=None
        The number of tokens up to which the row of a word has 16 bits. None: 65,535.

    Attributes
    ----------
    arrays : tuple of ndarray
        The arguments of kernels: rows of 16 bits (n_features, width), rows of 32 bits (n_long, width), and the index of
        the row of 32 bits of every word, or -1, int32 (n_features,). The index is empty if no word has such a row.
    """

    def __init__(self, corpus, topics, width, totals, largest=None):
        self.long_words = np.flatnonzero(corpus.word_frequencies > (_LARGEST_SHORT if largest is None else largest))
        place = np.full(corpus.n_features if len(self.long_words) else 0, -1, np.int32)
        place[self.long_words] = np.arange(len(self.long_words))
        self.arrays = (
            aligned_zeros((corpus.n_features, width), np.uint16),
            aligned_zeros((len(self.long_words), width), np.int32),
            place,
        )
        _tokens.count_rows(corpus.words, topics, *self.arrays, totals)

    def dense(self):
        """A copy, int32 (n_features, width)."""
        short, long, _ = self.arrays
        counts = short.astype(np.int32)
        counts[self.long_words] = long
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
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(dtype).reshape(shape)
