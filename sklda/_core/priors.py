"""The two Dirichlet priors: their validation, and the arrays in which the kernels take them."""

from dataclasses import dataclass, field, replace

import numpy as np

from sklda._core.parallel import Aligned
from sklda._input.arguments import real_numbers
from sklda._input.memory import check_memory_of_topics
from sklda._kernels import LANES

# Bounds of every Dirichlet parameter. The product of two parameters and a topic's total must fit in single precision.
SMALLEST, LARGEST = 1e-12, 1e12
# The sum of eta of a topic whose distribution is fixed: 2^80 times the distribution. A count n of the topic changes the
# probability phi of a word by a part of n / (2^80 phi). For n = 1e9 and phi = 2e-8, and for n = 1e5 and phi = 2e-12, it
# is 4e-8, the rounding error of single precision. Sums of other eta are at most 1e12 times the number of words, 2e21,
# so that this sum tells which topics are fixed.
FIXED_WEIGHT = 2.0**80
# Entries of alpha, in double precision, of the documents to which `add_doc` adds it at a time: 8 MB.
_BLOCK_ENTRIES = 2**20


def dirichlet_variance(parameters):
    """Variances of Dirichlet variates, a row for each; NaN for a row of zeros."""
    totals = parameters.sum(axis=-1, keepdims=True)
    means = parameters / np.where(totals > 0, totals, np.nan)
    return means * (1 - means) / (totals + 1)


def check_prior(prior, name, shapes):
    """Check a Dirichlet parameter and return it as a float or a float64 array.

    Parameters
    ----------
    prior : float or array-like
    name : str
        Name of the parameter, for error messages.
    shapes : dict of {str: tuple of int}
        The allowed shapes of an array. The keys describe them in error messages.

    Returns
    -------
    float or ndarray

    Raises
    ------
    ValueError
        If the shape is not allowed, or a value does not lie between 1e-12 and 1e12.
    TypeError
        If `prior` does not hold real numbers.
    """
    values = real_numbers(prior, name)
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


def at_topics(prior, name, n_components):
    """A prior at a number of topics: the value of a text such as "50/K" or "1/T", or of a function; others as they are.

    Raises
    ------
    ValueError, TypeError
        If a text is not a number over K or T, or a function returns None. The range of values is not checked.
    """
    if isinstance(prior, str):
        number, _, topics = prior.partition("/")
        try:
            return float(number if topics.strip() in ("K", "T") else "") / n_components
        except ValueError:
            raise ValueError(f"{name} = {prior!r}: a text must be a number over K or T, such as '50/K'.") from None
    if not callable(prior):
        return prior
    found = prior(n_components)
    if found is None:
        raise TypeError(f"{name} is a function that returned None for {n_components} topics: it must return a number.")
    return found


@dataclass(frozen=True, eq=False)
class Priors(Aligned):
    """alpha and eta as the kernels take them.

    Attributes
    ----------
    doc : ndarray of shape (n_rows, n_components)
        The distinct rows of alpha.
    word : ndarray of shape (n_features,) or (0,)
        eta if all topics share it; otherwise empty.
    topic : ndarray of shape (n_features, width) or (0, width), float32
        eta if each topic has a separate one, one row for each word, padded to `width` columns and rounded to single
        precision; otherwise empty.
    totals : ndarray of shape (n_components,)
        Sum of eta over words.
    row_of : ndarray of shape (n_documents,) or (0,), int32
        The row of alpha of each document. Empty: all documents share the only row.
    base_eta : float
        eta without the part of known topics; NaN if there are none, or if it is an array.
    weights : ndarray of shape (n_known,)
        Weights of the known topics, which are the first ones. Infinite: the topic is fixed. Empty without any.
    """

    doc: np.ndarray
    word: np.ndarray
    topic: np.ndarray
    totals: np.ndarray
    row_of: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    base_eta: float = np.nan
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self):
        # The kernels do not check the rows that they read.
        last, is_wrong = 0, len(self.doc) != 1
        if len(self.row_of):
            last = int(self.row_of.max())
            is_wrong = last >= len(self.doc) or self.row_of.min() < 0
        if is_wrong:
            raise ValueError(f"row_of goes to {last} in {len(self.row_of)} documents; alpha has {len(self.doc)} rows.")

    @classmethod
    def make(cls, doc_topic_prior, topic_word_prior, n_components, n_features, n_documents=None):
        """Priors from floats or arrays.

        Parameters
        ----------
        doc_topic_prior : float or array-like of shape (n_components,) or (n_documents, n_components), or None
            alpha. None: ``1 / n_components``.
        topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), or None
            eta. None: ``1 / n_components``.
        n_components, n_features : int
        n_documents : int, default=None
            None: a row of alpha for every document is not allowed.

        Raises
        ------
        ValueError, TypeError
            See `check_prior`; also if `n_components` does not fit 32 bits.
        MemoryError
            See `check_memory_of_topics`.
        """
        check_memory_of_topics(n_components)
        if doc_topic_prior is None:
            doc_topic_prior = 1.0 / n_components
        if topic_word_prior is None:
            topic_word_prior = 1.0 / n_components
        shapes = {"one per topic": (n_components,)}
        if n_documents is not None:
            shapes["documents, topics"] = (n_documents, n_components)
        alpha = check_prior(doc_topic_prior, "doc_topic_prior", shapes)
        shapes = {"one per word": (n_features,), "topics, words": (n_components, n_features)}
        values = real_numbers(topic_word_prior, "topic_word_prior")
        eta = np.asarray(check_prior(_without_fixed(values), "topic_word_prior", shapes))
        eta = values if eta.ndim == 2 else eta

        width = padded(n_components)
        doc = np.ascontiguousarray(
            np.broadcast_to(alpha, (*np.shape(alpha)[:-1], n_components)).reshape(-1, n_components)
        )
        row_of = np.arange(len(doc) if np.ndim(alpha) == 2 else 0, dtype=np.int32)
        if eta.ndim < 2:
            word = np.ascontiguousarray(np.broadcast_to(eta, n_features))
            return cls(doc, word, np.empty((0, width), np.float32), np.full(n_components, word.sum()), row_of)
        topic = np.zeros((n_features, width), np.float32)
        topic[:, :n_components] = eta.T
        return cls(doc, np.empty(0), topic, topic[:, :n_components].sum(axis=0, dtype=np.float64), row_of)

    @property
    def n_components(self):
        return len(self.totals)

    @property
    def shared(self):
        """Whether no document has a row of its own: all share alpha, or there is one document."""
        return len(self.row_of) < 2

    def doc_of(self, documents=slice(None)):
        """alpha of some documents, (1 or n_documents, n_components): the only row if all documents share it."""
        return self.doc[self.row_of[documents]] if len(self.row_of) else self.doc

    def add_doc(self, counts):
        """Add alpha to the topic counts of all documents, in place and in blocks, and return them."""
        step = max(_BLOCK_ENTRIES // self.n_components, 1)
        for first in range(0, len(counts), step):
            counts[first : first + step] += self.doc_of(slice(first, first + step))
        return counts

    def doc_totals(self):
        """The sum of alpha over the topics, (n_documents, 1), or (1, 1) if all documents have the same."""
        totals = self.doc.sum(axis=1, keepdims=True)
        return totals[self.row_of] if len(self.row_of) else totals

    def equal(self, other):
        """Whether both have the same alpha and eta."""
        names = "doc", "row_of", "word", "topic"
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    @property
    def shape(self):
        """(n_components, n_features)."""
        return len(self.totals), max(len(self.word), len(self.topic))

    @property
    def fixed(self):
        """Which topics have a fixed distribution, (n_components,) bool: their eta is `FIXED_WEIGHT` times it."""
        return self.totals >= FIXED_WEIGHT / 2

    def largest(self):
        """The largest parameter outside fixed topics."""
        topic = self.topic[:, : self.n_components]
        fixed = self.fixed
        topic = topic[:, ~fixed] if fixed.any() else topic
        return max(each.max(initial=0) for each in (self.doc, self.word, topic))

    @property
    def smallest_eta(self):
        """The smallest entry of eta."""
        return float((self.word if len(self.word) else self.topic[:, : self.n_components]).min())

    @property
    def exchangeable(self):
        """Whether all topics have the same priors."""
        return bool((self.doc == self.doc[:, :1]).all()) and not len(self.topic)

    def check_exchangeable(self, reason):
        """Raise a ValueError if topics have different priors; `reason` says why they must not."""
        if not self.exchangeable:
            raise ValueError(
                f"{reason}, so they must share their priors: give doc_topic_prior as one number, topic_word_prior "
                "without a row per topic, and no known_topics, or use init='anneal'."
            )

    def resized(self, n_components):
        """These priors for another number of topics. The topics must be exchangeable."""
        doc = np.repeat(self.doc[:, :1], n_components, axis=1)
        topic = np.empty((0, padded(n_components)), np.float32)
        return Priors(doc, self.word, topic, np.full(n_components, self.totals[0]), self.row_of)

    def after_moves(self, moves):
        """These priors with an alpha that has gone with the topics of moves, if it differs between them."""
        doc = self.doc
        for move in moves:
            if move.changes(doc):
                doc = np.exp(move.of_logs(np.log(doc)))
        return self if doc is self.doc else replace(self, doc=doc)

    def with_eta(self, eta):
        """These priors with another eta, one number or one for each word."""
        word = np.ascontiguousarray(np.broadcast_to(np.float64(eta), self.shape[1]))
        return replace(self, word=word, topic=self.topic[:0], totals=np.full(self.n_components, word.sum()))

    def scaled(self, doc_factor, word_factor):
        """alpha times `doc_factor` and eta times `word_factor`."""
        return replace(
            self,
            doc=self.doc * doc_factor,
            word=self.word * word_factor,
            topic=self.topic * np.float32(word_factor),
            totals=self.totals * word_factor,
        )

    def topic_word(self):
        """eta in a shape that broadcasts to (n_components, n_features)."""
        return self.word[None, :] if len(self.word) else self.topic[:, : self.n_components].T


def _without_fixed(eta):
    """eta with ones in place of rows that fix a topic, which are larger than a Dirichlet parameter may be."""
    if eta.ndim != 2:
        return eta
    with np.errstate(invalid="ignore"):
        fixed = np.isclose(eta.sum(axis=1), FIXED_WEIGHT, rtol=1e-3) & (eta > 0).all(axis=1)
    return np.where(fixed[:, None], 1.0, eta) if fixed.any() else eta


def padded(n_components):
    """`n_components` rounded up to a multiple of the SIMD lanes: the width of a row of topics in the kernels."""
    return -(-n_components // LANES) * LANES
