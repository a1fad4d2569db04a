"""Known topics beside new ones: their priors, and Gibbs-EM for their weights.

The eta of known topic k is ``eta + c_k m_k``, with its distribution m_k over words and its weight c_k, in words. The
eta of a new topic is ``eta``. An infinite weight fixes a topic: phi_k = m_k.

The weight is learnt from the counts n_k of the topic, which have a Dirichlet-multinomial distribution given z: the
M-step maximises the mean over draws of z of

    sum_v [log Gamma(a_v + n_kv) - log Gamma(a_v)] - [log Gamma(A + n_k) - log Gamma(A)],    a_v = eta + c_k m_kv,

with A the sum of a_v. If the topic has not changed, this rises with c_k. The more it has drifted, the smaller is c_k.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from sklda._core.count_histograms import CountHistograms, Histograms
from sklda._core.gibbs_em import MStep, Statistics
from sklda._core.newton import newton_by_derivatives, newton_each
from sklda._core.priors import FIXED_WEIGHT, SMALLEST, padded
from sklda._core.rising import RisingOfEach, SumOfLogRising, rising_of_each

# Bounds of a learnt weight, in words. At the smallest one the topic is as free as a new one. At the largest one, the
# expected distance of phi from m, a few times the root of n_features / weight, is below .01 with 10,000 words.
WEIGHT_BOUNDS = (1e-2, 1e9)
# The largest weight that may be given and is not infinite.
LARGEST_WEIGHT = 1e12


@dataclass(frozen=True, eq=False)
class KnownTopics:
    """The known topics of a fit, which are its first ones.

    Attributes
    ----------
    topic_word : ndarray of shape (n_known, n_features)
        m. Rows sum to one.
    weights : ndarray of shape (n_known,)
        c, given or the first values, in words. Infinite: the topic is fixed.
    learnt : ndarray of shape (n_known,), bool
        Which weights are learnt.
    std : ndarray of shape (n_known, n_features) or None
        Standard errors of `topic_word`.
    names : list of str or None
        Those of all topics; None if known topics have no names.
    """

    topic_word: np.ndarray
    weights: np.ndarray
    learnt: np.ndarray
    std: np.ndarray | None = None
    names: list[str] | None = None

    def __len__(self):
        return len(self.topic_word)

    @property
    def is_fixed(self):
        """Which of them are fixed, (n_known,) bool."""
        return np.isinf(self.weights)

    def with_priors(self, priors, eta, pseudo_counts, weights):
        """`Priors` with the alpha of others.

        Parameters
        ----------
        priors : Priors
        eta : float or ndarray of shape (n_features,) or (n_components, n_features)
        pseudo_counts : csr_array of shape (n_components, n_features) or None
            They are added to eta, except for fixed topics.
        weights : ndarray of shape (n_known,)
        """
        K, V = priors.shape
        topic = np.zeros((V, padded(K)), np.float32)
        topic[:, :K] = np.broadcast_to(eta, (K, V)).T
        if pseudo_counts is not None:
            cells = pseudo_counts.tocoo()
            np.add.at(topic, (cells.col, cells.row), cells.data.astype(np.float32))
        for k, (row, weight) in enumerate(zip(self.topic_word, weights, strict=True)):
            if np.isinf(weight):
                topic[:, k] = np.maximum(FIXED_WEIGHT * row, SMALLEST)
            else:
                topic[:, k] += weight * row
        totals = topic[:, :K].sum(axis=0, dtype=np.float64)
        base = float(eta) if np.ndim(eta) == 0 else np.nan
        return replace(
            priors, word=np.empty(0), topic=topic, totals=totals, base_eta=base, weights=np.array(weights, float)
        )


@dataclass(frozen=True, eq=False)
class KnownStatistics(Statistics):
    """`Statistics` of one draw. ``counts.word`` has no cells of known topics, and none with pseudo-counts.

    Attributes
    ----------
    known : csr_array of shape (n_components, n_features)
        m_kv of the cells with m_kv > 0 of known topics that are not fixed, and of cells with pseudo-counts.
    """

    known: csr_array = field(default_factory=lambda: csr_array((0, 0)))


@dataclass(frozen=True)
class KnownMStep(MStep):
    """The M-step with known topics. The logarithms of their learnt weights follow those of alpha and eta.

    eta is maximised at the present weights, and then the weights at the new eta. So the mean log joint never falls.

    Attributes
    ----------
    known : KnownTopics
    given_eta : float, ndarray or None
        None: eta is one number, and it is learnt.
    pseudo_counts : csr_array of shape (n_components, n_features) or None
    """

    known: Any = None
    given_eta: object = None
    pseudo_counts: object = None

    @property
    def _n_learnt(self):
        return int(np.count_nonzero(self.known.learnt))

    def eta(self, priors):
        """eta, one number, without the part of known topics; any number if it is given as an array."""
        return priors.smallest_eta if np.isnan(priors.base_eta) else priors.base_eta

    def present(self, chain):
        weights = chain.priors.weights[self.known.learnt]
        return np.concatenate([super().present(chain), np.log(np.clip(weights, *WEIGHT_BOUNDS))])

    def set(self, chain, log_h):
        first = len(log_h) - self._n_learnt
        weights = chain.priors.weights.copy()
        weights[self.known.learnt] = np.exp(log_h[first:])
        eta = float(np.exp(log_h[first - 1])) if self.given_eta is None else self.given_eta
        chain.priors = self.known.with_priors(chain.priors, eta, self.pseudo_counts, weights)

    def _place_of_eta(self, log_h):
        return len(log_h) - self._n_learnt - 1

    def statistics(self, chain):
        draw, K = super().statistics(chain), chain.priors.n_components
        counts = chain.word_topic_counts[:, :K].T
        own = csr_array(counts[: len(self.known)])
        parts = [own, csr_array((K - own.shape[0], own.shape[1]), dtype=own.dtype)]
        if self.pseudo_counts is not None:
            topics, words = self.pseudo_counts[len(self.known) :].nonzero()
            seeded = counts[len(self.known) :][topics, words]
            parts[1] = csr_array((seeded, (topics, words)), shape=parts[1].shape)
            parts[1].eliminate_zeros()
        cells = vstack(parts, "csr")
        counts = draw.counts
        if self.given_eta is None:
            rest = counts.word.total()
            np.subtract.at(rest, cells.data, 1)
            counts = replace(counts, word=Histograms.from_dense(rest))
        fixed = np.flatnonzero(self.known.is_fixed)
        if len(fixed):
            lengths = np.diff(cells.indptr)
            kept = np.repeat(~np.isin(np.arange(K), fixed), lengths)
            lengths[fixed] = 0
            ends = np.concatenate([[0], np.cumsum(lengths)])
            cells = csr_array((cells.data[kept], cells.indices[kept], ends), shape=cells.shape)
        return KnownStatistics(counts, draw.doc_by_topic, known=cells)

    def maximum(self, draws, log_h):
        first, log_h = len(log_h) - self._n_learnt, np.array(log_h)
        counts, cells = CountHistograms.stack([each.counts for each in draws]), self._cells(draws)
        if self.given_eta is None:
            weights = self.known.weights.copy()
            weights[self.known.learnt] = np.exp(log_h[first:])
            part = self._part_of_eta(draws, counts, cells, weights)
            log_h[first - 1] = newton_by_derivatives(part, log_h[first - 1], self.bounds[1])
        if self._n_learnt:
            eta = np.exp(log_h[first - 1]) if self.given_eta is None else self.given_eta
            part = WeightLikelihood(self.known, cells, counts.totals, eta, self.pseudo_counts).mean
            log_h[first:] = newton_each(part, log_h[first:], *np.log(WEIGHT_BOUNDS))
        log_h[: first - 1] = self.alpha_at_maximum(draws, counts, log_h[: first - 1])
        return log_h

    def _cells(self, draws):
        return Cells.of([each.known for each in draws])

    def _part_of_eta(self, draws, counts, cells, weights):
        """The mean of log p(w | z, eta) over draws, and its derivatives, as a function of eta."""
        rest, rising, V = SumOfLogRising(counts.word.total()[None]), RisingOfEach(cells.counts), counts.n_features
        added = cells.part_of_known(self.known, weights) + cells.pseudo(self.pseudo_counts)
        added = added[rising.order]
        finite = np.ones(counts.totals.shape[1], bool)
        finite[: len(self.known)] = ~self.known.is_fixed
        of_topic = _totals_of(self.pseudo_counts, len(finite))
        of_topic[: len(self.known)] += weights
        of_topic, totals = of_topic[finite], counts.totals[:, finite]

        def part(eta):
            eta = float(np.squeeze(eta))
            value, slope, bend = rising(eta + added).sum(axis=1)
            found = rest(np.array([eta]))[:, 0] + np.array([value, eta * slope, eta * slope + eta**2 * bend])
            value, slope, bend = _of_totals(V * eta + of_topic, totals)
            return (found - [value, V * eta * slope, V * eta * slope + (V * eta) ** 2 * bend]) / len(draws)

        return part


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of words in topics, in all draws.

    Attributes
    ----------
    draws, topics, words, counts : ndarray of shape (n_cells,)
    """

    draws: np.ndarray
    topics: np.ndarray
    words: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, draws):
        """Those of a list of csr_array of shape (n_components, n_features)."""
        parts = [each.tocoo() for each in draws]
        return cls(
            np.repeat(np.arange(len(parts)), [each.nnz for each in parts]),
            np.concatenate([each.row for each in parts]),
            np.concatenate([each.col for each in parts]),
            np.concatenate([each.data for each in parts]),
        )

    def part_of_known(self, known, weights):
        """c_k m_kv, 0 for new topics."""
        found = np.zeros(len(self.counts))
        own = self.topics < len(known)
        topics = self.topics[own]
        found[own] = weights[topics] * known.topic_word[topics, self.words[own]]
        return found

    def pseudo(self, pseudo_counts):
        """The pseudo-counts of the cells."""
        if pseudo_counts is None:
            return np.zeros(len(self.counts))
        return np.asarray(pseudo_counts[self.topics, self.words], dtype=np.float64).reshape(-1)

    def eta(self, eta):
        """eta of the cells, without the part of known topics."""
        if np.ndim(eta) == 0:
            return np.full(len(self.counts), float(eta))
        return np.asarray(eta)[self.words] if np.ndim(eta) == 1 else np.asarray(eta)[self.topics, self.words]

    def chosen(self, which):
        """Some of the cells."""
        return Cells(self.draws[which], self.topics[which], self.words[which], self.counts[which])


class WeightLikelihood:
    """log p(n_k | c_k) of the learnt weights, draw by draw, with its derivatives with respect to log c_k.

    Parameters
    ----------
    known : KnownTopics
    cells : Cells
    totals : ndarray of shape (n_draws, n_components)
    eta : float or ndarray
        Without the part of known topics and pseudo-counts.
    pseudo_counts : csr_array or None
    """

    def __init__(self, known, cells, totals, eta, pseudo_counts):
        learnt = np.flatnonzero(known.learnt)
        place = np.full(totals.shape[1], -1)
        place[learnt] = np.arange(len(learnt))
        cells = cells.chosen(place[cells.topics] >= 0)
        self._rising = RisingOfEach(cells.counts)
        cells = cells.chosen(self._rising.order)
        self.shape = len(totals), len(learnt)
        self._topics = place[cells.topics]
        self._groups = cells.draws * len(learnt) + self._topics
        self._m = known.topic_word[cells.topics, cells.words]
        self._rest = cells.eta(eta) + cells.pseudo(pseudo_counts)
        K, V = totals.shape[1], known.topic_word.shape[1]
        sums = np.broadcast_to(eta, (K, V)).sum(axis=1) + _totals_of(pseudo_counts, K)
        self._sums, self._totals = sums[learnt], totals[:, learnt].astype(np.float64)

    def __call__(self, log_weights):
        """Value, first and second derivative, (3, n_draws, n_learnt)."""
        weights = np.exp(log_weights)
        slope = weights[self._topics] * self._m
        value, first, second = self._rising(slope + self._rest)
        first *= slope
        second = first + slope**2 * second
        size = self.shape[0] * self.shape[1]
        found = [np.bincount(self._groups, each, size).reshape(self.shape) for each in (value, first, second)]
        a = np.broadcast_to(weights + self._sums, self.shape)
        value, first, second = rising_of_each(a, self._totals)
        first = weights * first
        return np.array(found) - [value, first, first + weights**2 * second]

    def mean(self, log_weights):
        """The mean over draws, (3, n_learnt)."""
        return self(log_weights).mean(axis=1)


def _totals_of(pseudo_counts, n_components):
    """The sums of the pseudo-counts of topics, (n_components,)."""
    return np.zeros(n_components) if pseudo_counts is None else np.asarray(pseudo_counts.sum(axis=1)).ravel() + 0.0


def _of_totals(a, totals):
    """The sums of `rising_of_each` over topics and draws, (3,)."""
    return rising_of_each(a, totals).reshape(3, -1).sum(axis=1)
