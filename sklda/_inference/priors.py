"""The two Dirichlet priors in the forms that users and kernels take, and log p(w, z | eta, alpha) as their function."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, polygamma

from sklda._inference.rising import log_rising
from sklda._kernels import LANES, _histograms

# Products of two priors and a topic's total must stay within single precision.
SMALLEST, LARGEST = 1e-12, 1e12


def check_prior(prior, name, shapes):
    """Return `prior` as a float or a float64 array, or say what is wrong with it.

    Parameters
    ----------
    prior : float or array-like
    name : str
        Its name in messages.
    shapes : dict of {str: tuple of int}
        The array shapes that are allowed, by the words that describe them.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If the shape is none of these, or a value is not between 1e-12 and 1e12.
    TypeError
        If it does not hold real numbers.
    """
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold real numbers, got {prior!r}.") from error
    if values.ndim and values.shape not in shapes.values():
        allowed = " or ".join(f"{shape} ({words})" for words, shape in shapes.items())
        raise ValueError(f"{name} has shape {values.shape}; it must be a float, or an array of shape {allowed}.")
    bad = ~((values >= SMALLEST) & (values <= LARGEST))
    if bad.any():
        where = f"[{', '.join(map(str, np.argwhere(bad)[0]))}]" if values.ndim else ""
        raise ValueError(
            f"{name}{where} = {values[bad].flat[0]:g}: "
            f"a Dirichlet parameter must lie between {SMALLEST:g} and {LARGEST:g}."
        )
    return values if values.ndim else float(values)


@dataclass(frozen=True, eq=False)
class Priors:
    """alpha and eta as the kernels take them.

    Attributes
    ----------
    doc : ndarray of shape (1 or n_documents, n_components)
        alpha.
    word : ndarray of shape (n_features,) or (0,)
        eta where all topics share it.
    topic : ndarray of shape (n_features, width) or (0, width), float32
        eta where each topic has its own: by word, padded, and rounded to single precision.
    totals : ndarray of shape (n_components,)
        Sum of eta over words.
    """

    doc: np.ndarray
    word: np.ndarray
    topic: np.ndarray
    totals: np.ndarray

    @classmethod
    def make(cls, doc_topic_prior, topic_word_prior, n_components, n_features, n_documents=None):
        """From floats or arrays: alpha float, (K,) or (D, K); eta float, (V,) or (K, V).

        Raises
        ------
        ValueError, TypeError
            As `check_prior`.
        """
        shapes = {"one per topic": (n_components,)}
        if n_documents is not None:
            shapes["documents, topics"] = (n_documents, n_components)
        alpha = check_prior(doc_topic_prior, "doc_topic_prior", shapes)
        shapes = {"one per word": (n_features,), "topics, words": (n_components, n_features)}
        eta = np.asarray(check_prior(topic_word_prior, "topic_word_prior", shapes))

        width = padded(n_components)
        doc = np.ascontiguousarray(
            np.broadcast_to(alpha, (*np.shape(alpha)[:-1], n_components)).reshape(-1, n_components)
        )
        if eta.ndim < 2:
            word = np.ascontiguousarray(np.broadcast_to(eta, n_features))
            return cls(doc, word, np.empty((0, width), np.float32), np.full(n_components, word.sum()))
        topic = np.zeros((n_features, width), np.float32)
        topic[:, :n_components] = eta.T
        return cls(doc, np.empty(0), topic, topic[:, :n_components].sum(axis=0, dtype=np.float64))

    @property
    def n_components(self):
        return len(self.totals)

    @property
    def exchangeable(self):
        """Whether all topics have the same priors."""
        return bool((self.doc == self.doc[:, :1]).all()) and not len(self.topic)

    def resized(self, n_components):
        """The same priors for another number of topics; they must be exchangeable."""
        doc = np.repeat(self.doc[:, :1], n_components, axis=1)
        topic = np.empty((0, padded(n_components)), np.float32)
        return Priors(doc, self.word, topic, np.full(n_components, self.totals[0]))

    def scaled(self, doc_factor, word_factor):
        """alpha and eta times a factor each."""
        return Priors(
            self.doc * doc_factor,
            self.word * word_factor,
            self.topic * np.float32(word_factor),
            self.totals * word_factor,
        )

    def topic_word(self):
        """eta, broadcastable to (n_components, n_features)."""
        return self.word[None, :] if len(self.word) else self.topic[:, : self.n_components].T


def padded(n_components):
    """Width of a row of topics that the kernels sum in lanes."""
    return -(-n_components // LANES) * LANES


@dataclass(frozen=True, eq=False)
class Histograms:
    """Histograms of positive whole numbers: draw i has ``values[s] : counts[s]``, s = starts[i] : starts[i + 1].

    Attributes
    ----------
    values, counts : ndarray of shape (n_pairs,)
    starts : ndarray of shape (n_draws + 1,)
    """

    values: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_dense(cls, histogram):
        """One draw; ``histogram[n]`` is how often n occurs."""
        values = np.flatnonzero(histogram)
        return cls(_compact(values), _compact(histogram[values]), np.array([0, len(values)]))

    @classmethod
    def stack(cls, parts):
        ends = np.cumsum([0] + [part.starts[-1] for part in parts])
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([[0]] + [part.starts[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]),
        )

    def __len__(self):
        return len(self.starts) - 1

    def __reduce__(self):
        return type(self), (self.values, self.counts, self.starts)

    @cached_property
    def _matrix(self):
        """Values that occur, and the counts by draw and value."""
        values, columns = np.unique(self.values, return_inverse=True)
        return values, csr_array((self.counts, columns, self.starts), shape=(len(self), len(values)))

    def __getitem__(self, draws):
        values, matrix = self._matrix
        matrix = matrix[draws]
        return Histograms(values[matrix.indices], matrix.data, matrix.indptr)

    def mean(self):
        """The mean histogram, as one draw: what is linear in the counts has the mean over draws there."""
        values, matrix = self._matrix
        return Histograms(values, matrix.sum(axis=0) / len(self), np.array([0, len(values)]))

    def rising(self, a, order=0):
        """Sum over each draw's counts of `log_rising`, (n_draws, n_priors)."""
        values, matrix = self._matrix
        return matrix @ log_rising(a, values, order).T


def _compact(numbers):
    """In 32 bits where they fit: histograms of many draws are kept."""
    return numbers.astype(np.int32 if numbers.max(initial=0) <= np.iinfo(np.int32).max else np.int64)


@dataclass(frozen=True, eq=False)
class CountHistograms:
    """What log p(w, z | eta, alpha) takes of draws of z while both priors are symmetric, to evaluate it at any prior.

    log p(w, z | eta, alpha) = B(eta) + A(alpha) with theta and phi integrated out; both parts are sums over counts of
    log Gamma(n + a) - log Gamma(a), for which it is enough to know how often each count occurs (George & Doss 2018,
    equation 2.2, collapsed).

    Attributes
    ----------
    n_features : int
    lengths : Histograms
        n_d, of one draw: the corpus' own.
    doc, word : Histograms
        n_dk and m_kv.
    totals : ndarray of shape (n_draws, n_components)
        m_k.
    """

    n_features: int
    lengths: Histograms
    doc: Histograms
    word: Histograms
    totals: np.ndarray

    @classmethod
    def of(cls, chain):
        """Of the present draw of a `GibbsChain`."""
        word = np.zeros(int(chain.word_topic_counts.max()) + 1, np.int64)
        _histograms.words(chain.word_topic_counts, word)
        return cls(
            chain.corpus.n_features,
            Histograms.from_dense(chain.corpus.length_histogram),
            Histograms.from_dense(doc_histogram(chain)[0]),
            Histograms.from_dense(word),
            chain.topic_totals[None].copy(),
        )

    @classmethod
    def stack(cls, parts):
        """Draws of one corpus together, in order."""
        return cls(
            parts[0].n_features,
            parts[0].lengths,
            Histograms.stack([part.doc for part in parts]),
            Histograms.stack([part.word for part in parts]),
            np.concatenate([part.totals for part in parts]),
        )

    def __len__(self):
        return len(self.totals)

    def __getitem__(self, draws):
        """The draws of a slice, an index array or a mask."""
        return CountHistograms(self.n_features, self.lengths, self.doc[draws], self.word[draws], self.totals[draws])

    def word_part(self, eta, order=0):
        """B(eta), or its derivative of that order with respect to log eta; (n_draws, n_etas)."""
        eta = np.asarray(eta, dtype=np.float64)
        totals = log_rising(eta * self.n_features, self.totals.ravel(), order)
        return self.word.rising(eta, order) - totals.reshape(len(eta), *self.totals.shape).sum(axis=2).T

    def doc_part(self, alpha, order=0):
        """A(alpha), or its derivative of that order with respect to log alpha; (n_draws, n_alphas)."""
        alpha = np.asarray(alpha, dtype=np.float64)
        return self.doc.rising(alpha, order) - self.lengths.rising(alpha * self.totals.shape[1], order)

    def log_joint(self, eta, alpha):
        """log p(w, z | eta, alpha) of every draw, nats.

        Parameters
        ----------
        eta, alpha : array-like of shape (n_priors,)

        Returns
        -------
        ndarray of shape (n_draws, n_priors)
        """
        return self.word_part(eta) + self.doc_part(alpha)

    def derivatives(self, eta, alpha):
        """First and second derivatives of `log_joint` with respect to log eta and log alpha; the mixed one is zero.

        Returns
        -------
        gradient, curvature : ndarray of shape (n_draws, n_priors, 2)
        """
        return tuple(np.stack([self.word_part(eta, order), self.doc_part(alpha, order)], axis=2) for order in (1, 2))


def doc_histogram(chain, by_topic=False):
    """How often each n_dk > 0 occurs in the present draw, int64 (1 or n_components, longest document + 1)."""
    rows = chain.priors.n_components if by_topic else 1
    histogram = np.zeros((rows, len(chain.corpus.length_histogram)), np.int64)
    _histograms.documents(chain.corpus.offsets, chain.topics, histogram, np.empty(chain.priors.n_components, np.int32))
    return histogram


def dirichlet_part(a, n, size, log_sums, order=0):
    """Log density of n vectors from the symmetric Dirichlet(a), or a derivative of it with respect to log a.

    Parameters
    ----------
    a : array-like of shape (n_priors,)
    n, size : int
        Vectors, and entries of each.
    log_sums : array-like of shape (n_draws,)
        Sums over all entries of the logarithm, of several draws of the n vectors.
    order : {0, 1, 2}
        Of the derivative.

    Returns
    -------
    ndarray of shape (n_draws, n_priors)
    """
    a = np.asarray(a, dtype=np.float64)
    if order == 0:
        return n * (gammaln(size * a) - size * gammaln(a)) + np.outer(log_sums, a - 1)
    first = n * size * a * (digamma(size * a) - digamma(a)) + np.outer(log_sums, a)
    if order == 1:
        return first
    return first + n * size * a**2 * (size * polygamma(1, size * a) - polygamma(1, a))
