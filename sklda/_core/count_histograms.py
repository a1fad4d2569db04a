"""How often each count occurs: the sufficient statistics of log p(w, z | alpha, eta) for symmetric priors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from sklda._core.rising import log_rising


@dataclass(frozen=True, eq=False)
class Histograms:
    """Histograms of positive whole numbers, one for each draw, in the layout of a CSR matrix.

    Attributes
    ----------
    values, counts : ndarray of shape (n_pairs,)
        In draw i, the number ``values[j]`` occurs ``counts[j]`` times, for j in ``range(offsets[i], offsets[i + 1])``.
    offsets : ndarray of shape (n_draws + 1,)
    """

    values: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_dense(cls, histogram):
        """The histogram of one draw, in which the number n occurs ``histogram[n]`` times."""
        values = np.flatnonzero(histogram)
        return cls(_compact(values), _compact(histogram[values]), np.array([0, len(values)]))

    @classmethod
    def stack(cls, parts):
        """The draws of several `Histograms`, in order."""
        ends = np.cumsum([0] + [part.offsets[-1] for part in parts])
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([[0]] + [part.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]),
        )

    def __len__(self):
        return len(self.offsets) - 1

    def __reduce__(self):
        # The cached matrix is not pickled.
        return type(self), (self.values, self.counts, self.offsets)

    @cached_property
    def _matrix(self):
        """The distinct values, and their counts as a sparse array (n_draws, n_values)."""
        occurs = np.zeros(int(self.values.max(initial=0)) + 1, bool)
        occurs[self.values] = True
        values, columns = np.flatnonzero(occurs), np.cumsum(occurs) - 1
        return values, csr_array((self.counts, columns[self.values], self.offsets), shape=(len(self), len(values)))

    def total(self):
        """How often the number n occurs in all draws together, at index n."""
        return np.bincount(self.values, self.counts)

    def sum_of_log_rising(self, a, order=0):
        """The sum of `log_rising` over the numbers of each draw; (n_draws, n_priors)."""
        if len(self) == 1:
            # To make the matrix takes longer than the sum.
            return (log_rising(a, self.values, order) @ self.counts)[None]
        values, matrix = self._matrix
        return matrix @ log_rising(a, values, order).T


def _compact(numbers):
    """Integers in 32 bits if they fit, to save memory when the histograms of many draws are stored."""
    return numbers.astype(np.int32 if numbers.max(initial=0) <= np.iinfo(np.int32).max else np.int64)


@dataclass(frozen=True, eq=False)
class CountHistograms:
    """Sufficient statistics of draws of z, to evaluate log p(w, z | alpha, eta) at any symmetric priors.

    With theta and phi integrated out, log p(w, z | alpha, eta) = A(alpha) + B(eta). Both parts are sums over counts n
    of log Gamma(n + a) - log Gamma(a), so they depend only on how often each count occurs (George & Doss 2018,
    equation 2.2, after integration).

    Attributes
    ----------
    n_features : int
    lengths : Histograms
        Lengths n_d of the documents; one histogram, because z does not change them.
    doc, word : Histograms
        Counts n_dk of topics in documents, and m_kv of words in topics.
    totals : ndarray of shape (n_draws, n_components)
        Totals m_k of the topics.
    """

    n_features: int
    lengths: Histograms
    doc: Histograms
    word: Histograms
    totals: np.ndarray

    @classmethod
    def of(cls, chain):
        """The statistics of the present draw of a `GibbsChain`."""
        return cls.from_parts(chain, chain.doc_histogram(), chain.word_histogram())

    @classmethod
    def from_parts(cls, chain, doc_histogram, word_histogram):
        """The statistics of the present draw of a `GibbsChain` whose histograms are known."""
        return cls(
            chain.corpus.n_features,
            Histograms.from_dense(chain.corpus.length_histogram),
            Histograms.from_dense(doc_histogram),
            Histograms.from_dense(word_histogram),
            chain.topic_totals[None].copy(),
        )

    @classmethod
    def stack(cls, parts):
        """The draws of several `CountHistograms` of one corpus, in order."""
        return cls(
            parts[0].n_features,
            parts[0].lengths,
            Histograms.stack([part.doc for part in parts]),
            Histograms.stack([part.word for part in parts]),
            np.concatenate([part.totals for part in parts]),
        )

    @cached_property
    def _totals(self):
        """`totals` as histograms: their distinct values are fewer. Zeros change no sum, and are left out."""
        used = self.totals > 0
        values, ends = self.totals[used], np.cumsum(used.sum(axis=1))
        return Histograms(values, np.ones(len(values)), np.concatenate([[0], ends]))

    def __reduce__(self):
        return type(self), (self.n_features, self.lengths, self.doc, self.word, self.totals)

    def __len__(self):
        return len(self.totals)

    def word_part(self, eta, order=0):
        """B(eta), or its derivative with respect to log eta of order 1 or 2; (n_draws, n_etas)."""
        eta = np.asarray(eta, dtype=np.float64)
        return self.word.sum_of_log_rising(eta, order) - self._totals.sum_of_log_rising(eta * self.n_features, order)

    def doc_part(self, alpha, order=0):
        """A(alpha), or its derivative with respect to log alpha of order 1 or 2; (n_draws, n_alphas)."""
        alpha = np.asarray(alpha, dtype=np.float64)
        lengths = self.lengths.sum_of_log_rising(alpha * self.totals.shape[1], order)
        return self.doc.sum_of_log_rising(alpha, order) - lengths
