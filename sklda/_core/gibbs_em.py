"""Gibbs-EM: priors learnt during the sweeps of a chain (Wallach 2006).

An E-step collects draws of z, as count histograms. The M-step maximises the mean of log p(w, z | h) over h = (alpha,
eta). This mean is the sum of a function of eta and a function of alpha. The result depends on the mode of z in which
the chain is, and has noise from the draws.

`MStep` is the M-step for the Dirichlet priors of LDA. Models with other priors define another one. `Learner` in
`_sampling/prior_learning` decides when there is one.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, polygamma

from sklda._core.count_histograms import CountHistograms, Histograms
from sklda._core.newton import RankOneUpdate, newton, newton_by_derivatives
from sklda._core.priors import Priors
from sklda._core.rising import SumOfLogRising, log_gamma_ratio, log_rising_and_derivatives

# Default bounds of learnt priors. For counts below a thousand, smaller and larger values give almost the same
# likelihood. At 1e-5 each document has almost surely one topic, and each topic one word. At 1e4 the Dirichlet
# distribution is almost concentrated at the uniform distribution.
BOUNDS = (1e-5, 1e4)
_NO_COUNTS = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of one draw of z for the M-step.

    Attributes
    ----------
    counts : CountHistograms
        Of one draw.
    doc_by_topic : csr_array of shape (n_components, longest document + 1) or None
        Entry (k, n) is the number of documents with n_dk = n > 0. None unless there is an alpha per topic.
    seeded : ndarray of shape (n_cells,) or None
        m_kv of the cells (k, v) with pseudo-counts, which are not in `counts.word`. None: there are no pseudo-counts.
    """

    counts: CountHistograms
    doc_by_topic: csr_array | None = None
    seeded: np.ndarray | None = None


@dataclass(frozen=True)
class MStep:
    """The h that maximises the mean of log p(w, z | h) over draws of z, by Newton's method.

    Attributes
    ----------
    bounds : pair of (float, float) or None
        Bounds of alpha and of eta. None: this prior is fixed.
    per_topic : bool
        Whether there is an alpha per topic. eta is always one number.
    """

    bounds: tuple = (BOUNDS, BOUNDS)
    per_topic: bool = False

    def present(self, chain):
        """log (alpha, eta) of a chain, or of another object with `priors`, within the bounds."""
        alpha = chain.priors.doc[0] if self.per_topic else chain.priors.doc[0, :1]
        values = [*((value, self.bounds[0]) for value in alpha), (self.eta(chain.priors), self.bounds[1])]
        return np.log([value if bounds is None else np.clip(value, *bounds) for value, bounds in values])

    @staticmethod
    def eta(priors):
        """eta, one number, of `Priors`."""
        return priors.smallest_eta

    @staticmethod
    def with_eta(priors, eta):
        """`Priors` with another eta."""
        return priors.with_eta(eta)

    def set(self, chain, log_h):
        """Set the priors that are not fixed."""
        if self.bounds[1] is not None:
            chain.priors = self.with_eta(chain.priors, float(np.exp(log_h[-1])))
        if self.bounds[0] is not None:
            chain.priors = self.with_alpha(chain.priors, log_h[:-1])

    @staticmethod
    def with_alpha(priors, log_alpha):
        """`Priors` with another alpha, which all documents share."""
        alpha = np.broadcast_to(np.exp(log_alpha), priors.n_components)[None].copy()
        return replace(priors, doc=alpha, row_of=priors.row_of[:0])

    def scales(self, log_h):
        """The logarithms of the sum of the alphas of `log_h`, and of eta, (2,)."""
        eta = self._place_of_eta(log_h)
        return np.array([np.logaddexp.reduce(log_h[:eta]), log_h[eta]])

    def with_scales(self, log_h, scales):
        """`log_h` with another sum of alpha and another eta, within the bounds; those that are fixed stay."""
        log_h, eta = np.array(log_h), self._place_of_eta(log_h)
        parts = (slice(eta), slice(eta, eta + 1))
        for part, shift, bounds in zip(parts, scales - self.scales(log_h), self.bounds, strict=True):
            if bounds is not None:
                log_h[part] = np.clip(log_h[part] + shift, *np.log(bounds))
        return log_h

    def _place_of_eta(self, log_h):
        """The entry of eta, which follows those of alpha."""
        return len(log_h) - 1

    def statistics(self, chain):
        """`Statistics` of the present draw of a chain. The counts on which only fixed priors depend are left out."""
        documents, by_topic = _NO_COUNTS, None
        if self.bounds[0] is not None and self.per_topic:
            by_topic = chain.doc_histogram_by_topic()
            documents = by_topic.sum(axis=0)
        elif self.bounds[0] is not None:
            documents = chain.doc_histogram()
        words = chain.word_histogram() if self.bounds[1] is not None else _NO_COUNTS
        return Statistics(CountHistograms.from_parts(chain, documents, words), by_topic)

    def maximum(self, draws, log_h):
        """log (alpha, eta) at the maximum.

        Parameters
        ----------
        draws : list of Statistics
        log_h : ndarray of shape (2,) or (n_components + 1,)
            The present value, from which Newton's method starts.

        Returns
        -------
        ndarray of the shape of `log_h`
        """
        counts, log_h = CountHistograms.stack([each.counts for each in draws]), np.array(log_h)
        if self.bounds[1] is not None:
            log_h[-1] = newton_by_derivatives(self._eta_part(draws, counts), log_h[-1], self.bounds[1])
        log_h[:-1] = self.alpha_at_maximum(draws, counts, log_h[:-1])
        return log_h

    def alpha_at_maximum(self, draws, counts, log_alpha):
        """log alpha at the maximum, or the present one if alpha is fixed; `counts` are those of all draws."""
        bounds = self.bounds[0]
        if bounds is None:
            return log_alpha
        if self.per_topic:
            # A division of one sparse array by one takes a sixth of the time of a maximum.
            first, *others = (each.doc_by_topic for each in draws)
            documents = reduce(add, others, first) / len(draws) if others else first
            return topic_alphas(documents, counts.lengths, log_alpha, bounds)
        documents = SumOfLogRising(counts.doc.total()[None] / len(draws))
        return np.array([newton_by_derivatives(_alpha_part(documents, counts), log_alpha[0], bounds)])

    def _eta_part(self, draws, counts):
        """The mean of log p(w | z, eta) over draws, and its derivatives, as a function of eta."""
        words, totals = SumOfLogRising(counts.word.total()[None] / len(draws)), counts.totals.ravel()

        def part(eta):
            of_totals = log_rising_and_derivatives(counts.n_features * eta, totals).sum(axis=1)
            return words(eta)[:, 0] - of_totals / len(draws)

        return part


@dataclass(frozen=True)
class SeededMStep(MStep):
    """The M-step for eta_kv = eta + c_kv, where pseudo-counts c_kv are given and eta, one number, is learnt.

    Attributes
    ----------
    cells : (ndarray, ndarray, ndarray), each of shape (n_cells,)
        Topics, words and pseudo-counts of the cells with c_kv > 0.
    """

    cells: tuple = ()

    def eta(self, priors):
        """eta without pseudo-counts."""
        added = self._pseudo_counts(priors)
        return float((priors.topic_word()[added == added.min()] - added.min()).min())

    def with_eta(self, priors, eta):
        # In single precision, as in `Priors`, so that `eta` of these priors is this number again.
        topic_word = float(np.float32(eta)) + self._pseudo_counts(priors)
        return replace(Priors.make(1.0, topic_word, *priors.shape), doc=priors.doc, row_of=priors.row_of)

    def _pseudo_counts(self, priors):
        """c_kv, (n_components, n_features)."""
        topics, words, added = self.cells
        c = np.zeros(priors.shape)
        c[topics, words] = added
        return c

    def statistics(self, chain):
        draw, (topics, words, _) = super().statistics(chain), self.cells
        seeded = chain.word_topic_counts[words, topics].astype(np.int64)
        rest = draw.counts.word.total()
        np.subtract.at(rest, seeded[seeded > 0], 1)
        return replace(draw, counts=replace(draw.counts, word=Histograms.from_dense(rest)), seeded=seeded)

    def _eta_part(self, draws, counts):
        words, (topics, _, added) = SumOfLogRising(counts.word.total()[None] / len(draws)), self.cells
        n_features, per_topic = counts.n_features, np.bincount(topics, added, counts.totals.shape[1])
        seeded = np.array([draw.seeded for draw in draws])

        def part(eta):
            cells = _of_sum(eta, 1, added, seeded) - _of_sum(eta, n_features, per_topic, counts.totals)
            return words(eta)[:, 0] + cells / len(draws)

        return part


def _of_sum(eta, factor, added, n):
    """The sum of log Gamma(a + n) - log Gamma(a), a = factor * eta + added, and its derivatives in log eta; (3,)."""
    slope = factor * eta
    a = np.broadcast_to(slope + added, n.shape)
    first = digamma(a + n) - digamma(a)
    second = polygamma(1, a + n) - polygamma(1, a)
    return np.array([each.sum() for each in (log_gamma_ratio(a, n), slope * first, slope * first + slope**2 * second)])


def _alpha_part(documents, counts):
    """The mean of log p(z | alpha) over draws, and its derivatives, as a function of a symmetric alpha."""
    lengths, K = SumOfLogRising(counts.lengths.total()[None]), counts.totals.shape[1]
    return lambda alpha: (documents(alpha) - lengths(K * alpha))[:, 0]


def topic_alphas(histogram, lengths, start, bounds):
    """log alpha, one per topic, that maximises the mean of log p(z | alpha).

    Parameters
    ----------
    histogram : csr_array or ndarray of shape (n_components, n_counts)
        ``histogram[k, n]`` is the number of documents with n_dk = n, averaged over draws.
    lengths : Histograms
        Lengths of the documents; one histogram.
    start : ndarray of shape (n_components,)
        Initial value of log alpha.
    bounds : (float, float)
        Smallest and largest alpha.

    Returns
    -------
    ndarray of shape (n_components,)
    """
    documents, lengths = SumOfLogRising(histogram), SumOfLogRising(lengths.total()[None])

    def function(x):
        alpha = np.exp(x)
        share = alpha / alpha.sum()
        value, first, second = documents(alpha)
        totals = lengths(alpha.sum(keepdims=True))[:, 0]
        curvature = RankOneUpdate(second - share * totals[1], totals[1] - totals[2], share)
        return value.sum() - totals[0], first - share * totals[1], curvature

    low, high = (np.full(len(start), bound) for bound in np.log(bounds))
    return newton(function, start, low, high)[0]
