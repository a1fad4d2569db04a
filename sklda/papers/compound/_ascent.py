"""Variational EM for compound LDA (George, Xia & Michailidis 2019, appendix E): ascent on a lower bound of log p(w).

q is a product: topics Dir(lambda_k), mixtures Dir(a_j omega_j), proportions Dir(rho_d), and a distribution of the topic
for each word of a document. No step lowers the bound. The terms with a and omega are those of `MixtureBound`.
"""

from functools import partial

import numpy as np
from scipy.special import gammaln, polygamma, psi

from sklda._core.gibbs_em import BOUNDS
from sklda._core.newton import newton_on_log
from sklda._core.parallel import NEVER_STOP, in_parallel
from sklda._core.priors import SMALLEST
from sklda._core.rising import log_gamma_ratio
from sklda._sampling.mixture_step import LEARNT_GAMMA
from sklda.papers.empirical_bayes._dirichlet import dirichlet_log_density

# --- The terms of the variational bound with q(pi_j) = Dir(a_j omega_j), and Newton steps for a and omega -------------


# Rounds of Newton steps for (omega, a) in one iteration. Chosen, not tuned: the next iteration continues from the last
# values.
_ROUNDS = 10
# The rounds end when one gains less than this part of the bound. Chosen: rounding errors are about 1e-16 of it.
_ROUND_TOLERANCE = 1e-10
# A Newton step in omega goes at most this part of the way to the edge of the simplex, and one in log a at most this
# far. A step that lowers the bound is halved at most this many times. These numbers are not tuned.
_TO_THE_EDGE, _LONGEST_LOG_A, _HALVINGS = 0.99, 2, 20
# Range of a, a sum of Dirichlet parameters.
_SMALLEST_A, _LARGEST_A = 1e-6, 1e15
# From here on Stirling's series has the precision of rounding.
_STIRLING = 64


def log_gamma_divergence(y, x):
    """log Gamma(y) - log Gamma(x) - (y - x) psi(x), which is not negative, entry by entry.

    Parameters
    ----------
    y, x : array-like
        Positive.

    Returns
    -------
    ndarray
        From x = y = 64 on it comes from Stirling's series, because the terms are much larger than their sum.
    """
    y, x = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64))
    result = np.array(gammaln(y) - gammaln(x) - (y - x) * psi(x))
    large = np.minimum(x, y) >= _STIRLING
    x, y = x[large], y[large]
    r = (y - x) / x
    log_ratio = np.log1p(r)
    value = x * ((1 + r) * log_ratio - r) - (log_ratio - r) / 2
    # The divergence of c / x**p.
    for p, c in ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260)):
        value += c * x ** -float(p) * (np.expm1(-p * log_ratio) + p * r)
    result[large] = value
    return result


class MixtureBound:
    """The terms of the bound with q(pi_j) = Dir(a_j omega_j), and Newton steps that never lower them.

    Parameters
    ----------
    alpha, gamma : float
    n_documents : ndarray of shape (n_collections,)
    log_theta : ndarray of shape (n_collections, n_components)
        Sums over the documents of E log theta_dk.
    """

    def __init__(self, alpha, gamma, n_documents, log_theta):
        self.alpha, self.gamma, self.n, self.log_theta = alpha, gamma, n_documents[:, None], log_theta

    def bound(self, a, omega):
        """(n_collections,), without the terms that depend on neither a nor omega."""
        t, m = a * omega, self.gamma * omega
        terms = m * self.log_theta - self.n * self.log_gamma_bound(a, omega, m)
        # The Kullback-Leibler divergence from the prior of pi. The sum of t differs from a by rounding.
        terms -= log_gamma_divergence(self.alpha, t)
        return terms.sum(axis=1) + log_gamma_divergence(omega.shape[1] * self.alpha, t.sum(axis=1))

    def log_gamma_bound(self, a, omega, m):
        return gammaln(m) + (1 - m) * (np.log(omega) + psi(a) - psi(a * omega)) + self.gamma * (1 - omega) / a

    def omega_slopes(self, a, omega):
        """First and second derivative of each term in omega_jk, up to a constant (equations 69, 70)."""
        t, g = a * omega, self.gamma
        m, first, second = g * omega, polygamma(1, t), polygamma(2, t)
        slope = a * (self.alpha - t) * first + g * self.log_theta
        slope -= self.n * (
            g * psi(m) + (1 - m) * (1 / omega - a * first) - g * (np.log(omega) + psi(a) - psi(t)) - g / a
        )
        curvature = a**2 * ((self.alpha - t) * second - first)
        curvature -= self.n * (
            g**2 * polygamma(1, m) - 2 * g * (1 / omega - a * first) - (1 - m) * (1 / omega**2 + a**2 * second)
        )
        return slope, curvature

    def a_slopes(self, a, omega):
        """First and second derivative in a_j (equations 74, 75)."""
        t, K = a * omega, omega.shape[1]
        m, first, second = self.gamma * omega, polygamma(1, t), polygamma(2, t)

        def row(terms):
            return terms.sum(axis=1, keepdims=True)

        slope = row(omega * (self.alpha - t) * first) - (K * self.alpha - a) * polygamma(1, a)
        slope -= self.n * row((1 - m) * (polygamma(1, a) - omega * first))
        slope += self.n * self.gamma * (K - 1) / a**2
        curvature = row(omega**2 * ((self.alpha - t) * second - first)) + polygamma(1, a)
        curvature -= (K * self.alpha - a) * polygamma(2, a)
        curvature -= self.n * row((1 - m) * (polygamma(2, a) - omega**2 * second))
        curvature -= 2 * self.n * self.gamma * (K - 1) / a**3
        return slope, curvature

    def ascend(self, a, omega):
        """Newton steps in omega (its sum kept, equation 72) and log a in turn; each is halved until the bound rises."""
        value = self.bound(a, omega)
        for _ in range(_ROUNDS):
            slope, curvature = self.omega_slopes(a, omega)
            inverse = 1 / np.maximum(np.abs(curvature), 1e-300)
            mean = (slope * inverse).sum(axis=1, keepdims=True) / inverse.sum(axis=1, keepdims=True)
            step = (slope - mean) * inverse
            with np.errstate(divide="ignore", over="ignore"):
                step *= np.minimum(1, _TO_THE_EDGE / np.max(-step / omega, axis=1, keepdims=True, initial=1e-300))
            before = value
            omega, value = self._search(_along(a, omega, step), 1, omega, value)
            slope, curvature = self.a_slopes(a, omega)
            # With respect to log a.
            slope, curvature = slope * a, np.abs(curvature * a**2 + slope * a)
            step = np.clip(slope / np.maximum(curvature, 1e-300), -_LONGEST_LOG_A, _LONGEST_LOG_A)
            a, value = self._search(_scaled(a, omega, step), 0, a, value)
            if (value - before <= _ROUND_TOLERANCE * np.abs(value)).all():
                break
        return a, omega

    def _search(self, move, which, old, value):
        """For each collection the longest of the steps 1, 1/2, 1/4, ... that raises the bound, or none."""
        new, best, open_ = old, value, np.ones(len(value), bool)
        for halvings in range(_HALVINGS):
            trial = move(0.5**halvings)
            with np.errstate(all="ignore"):
                found = self.bound(*trial)
            better = open_ & (found > value)
            new = np.where(better[:, None], trial[which], new)
            best = np.where(better, found, best)
            open_ &= ~better
            if not open_.any():
                break
        return new, best


def _along(a, omega, step):
    return lambda s: (a, simplex(omega + s * step))


def _scaled(a, omega, log_step):
    return lambda s: (np.clip(a * np.exp(s * log_step), _SMALLEST_A, _LARGEST_A), omega)


def simplex(omega):
    """Rows that sum to one, no entry below 1e-12."""
    omega = np.maximum(omega, SMALLEST)
    return omega / omega.sum(axis=1, keepdims=True)


# --- Variational EM for compound LDA (George, Xia & Michailidis 2019, appendix E): ascent on a lower bound of log p(w)


# Updates of (rho, q(z)) of a document in one iteration. Chosen, not tuned: the next iteration continues from the last
# values.
_DOCUMENT_UPDATES = 10
# Pairs of document and word in one block of arrays: 16 MB for 128 topics.
_PAIRS = 2**14
# The ascent has converged when an iteration gains less than this, in nats per token. Chosen: a perplexity changes by a
# ten-millionth of itself.
_TOLERANCE = 1e-7


class VariationalAscent:
    """Coordinate ascent on the lower bound of log p(w), from random topics and the same mixture for every collection.

    `sweep` is one iteration, and `log_joint` the bound. eta is None if it is not learnt.

    Attributes
    ----------
    topic_word_parameter : ndarray of shape (n_components, n_features)
        lambda.
    doc_topic : ndarray of shape (n_documents, n_components)
        rho.
    a : ndarray of shape (n_collections, 1)
    omega : ndarray of shape (n_collections, n_components)
    trace : list of float
        The bound after every iteration made with `maximise_bounds`.
    prior_trace : list of (float, float)
        (gamma, mean of eta) in every iteration, if one of them is learnt.
    """

    def __init__(self, corpus, priors, seed, model, alpha, gamma, eta=None):
        J, K = model.n_collections, priors.n_components
        self.corpus, self.priors, self.model = corpus, priors, model
        self.alpha, self.gamma, self.eta = alpha, gamma, eta
        # Each topic close to uniform: a tenth of spread breaks the symmetry between topics.
        self.topic_word_parameter = np.random.default_rng(seed).gamma(100, 0.01, (K, corpus.n_features))
        self.doc_topic = corpus.lengths[:, None] / K + gamma * np.full((1, K), 1 / K)
        self.a, self.omega = np.full((J, 1), K * alpha + 1.0), np.full((J, K), 1 / K)
        self.trace: list[float] = []
        self.prior_trace: list[tuple[float, float]] = []
        self.topic_word_prior = priors.topic_word() if eta is None else np.full((1, corpus.n_features), eta)
        self.counts = corpus.to_counts()
        self.documents = np.repeat(np.arange(corpus.n_documents), np.diff(self.counts.indptr))
        # A document without words has no term in log p(w); without it the bound is tighter.
        self.present = np.flatnonzero(corpus.lengths)
        self.labels = model.collections[self.present]
        self.n_documents = np.bincount(self.labels, minlength=model.n_collections)

    @property
    def converged(self):
        """Whether the last iteration raised the bound by less than the tolerance."""
        return len(self.trace) > 1 and self.trace[-1] - self.trace[-2] < _TOLERANCE * self.corpus.n_tokens

    def sweep(self, stop=NEVER_STOP):
        """One iteration: documents, topics, mixtures and, if they are learnt, gamma and eta."""
        log_words = expected_logs(self.topic_word_parameter).T
        expected = np.zeros((self.corpus.n_features, self.omega.shape[1]))
        prior = self.gamma * self.omega
        for first, last in self._blocks():
            self._documents(first, last, log_words, prior, expected, stop)
        self.topic_word_parameter = expected.T + self.topic_word_prior
        sums = self._sums(expected_logs(self.doc_topic))
        self.a, self.omega = MixtureBound(self.alpha, self.gamma, self.n_documents, sums).ascend(self.a, self.omega)
        if self.model.changes_priors:
            self.prior_trace.append((self.gamma, float(self.topic_word_prior.mean())))
            self._learn(sums)

    def _blocks(self):
        indptr = self.counts.indptr
        edges = np.searchsorted(indptr, np.arange(0, indptr[-1], _PAIRS), side="right") - 1
        edges = np.unique(np.concatenate([edges, [self.corpus.n_documents]]))
        return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)

    def _documents(self, first, last, log_words, prior, expected, stop):
        """Update rho and q(z) of some documents, from the rho of the last iteration."""
        own = slice(self.counts.indptr[first], self.counts.indptr[last])
        words, counts = self.counts.indices[own], self.counts.data[own, None]
        documents = self.documents[own] - first
        log_words = log_words[words]
        # Documents with words, and where each begins among the pairs.
        present, starts = np.unique(documents, return_index=True)
        rho = self.doc_topic[first:last].copy()
        for _ in range(_DOCUMENT_UPDATES):
            stop()
            share = log_words + expected_logs(rho)[documents]
            share -= share.max(axis=1, keepdims=True)
            np.exp(share, out=share)
            share *= counts / share.sum(axis=1, keepdims=True)
            rho = prior[self.model.collections[first:last]]
            rho[present] += np.add.reduceat(share, starts, axis=0)
        self.doc_topic[first:last] = rho
        np.add.at(expected, words, share)

    def _learn(self, log_theta):
        """gamma and eta at the maximum of the bound given the rest (equations 87, 88)."""
        if self.model.learn_gamma:
            part = partial(self._gamma_part, linear=self._linear_in_gamma(log_theta))
            self.gamma = float(np.exp(newton_on_log(part, np.log(self.gamma), LEARNT_GAMMA)))
        if self.model.learn_eta:
            K, V = self.topic_word_parameter.shape
            part = partial(
                dirichlet_log_density, n=K, size=V, log_sums=[expected_logs(self.topic_word_parameter).sum()]
            )
            self.eta = float(np.exp(newton_on_log(part, np.log(self.eta), BOUNDS)))
            self.topic_word_prior = np.full((1, V), self.eta)

    def _linear_in_gamma(self, log_theta):
        """The factor of gamma in the bound, without the terms with log Gamma."""
        a, omega, n = self.a, self.omega, self.n_documents[:, None]
        linear = (omega * (np.log(a * omega) - psi(a * omega) + log_theta / np.maximum(n, 1)) * n).sum()
        return linear - (n * ((omega.shape[1] - 1) / a + np.log(a) - psi(a))).sum()

    def _gamma_part(self, gamma, order, linear):
        """The terms of the bound with gamma, or their derivative of that order with respect to log gamma."""
        omega, n = self.omega, self.n_documents[:, None]
        if order == 0:
            return n.sum() * gammaln(gamma) - (n * gammaln(gamma * omega)).sum() + gamma * linear
        first = gamma * (n.sum() * psi(gamma) - (n * omega * psi(gamma * omega)).sum() + linear)
        if order == 1:
            return first
        second = n.sum() * polygamma(1, gamma) - (n * omega**2 * polygamma(1, gamma * omega)).sum()
        return first + gamma**2 * second

    def log_joint(self):
        """The lower bound on log p(w), in nats."""
        log_theta, log_words = expected_logs(self.doc_topic), expected_logs(self.topic_word_parameter)
        total = 0.0
        for first, last in self._blocks():
            own = slice(self.counts.indptr[first], self.counts.indptr[last])
            terms = log_words.T[self.counts.indices[own]] + log_theta[self.documents[own]]
            largest = terms.max(axis=1)
            total += self.counts.data[own] @ (largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1)))
        mixtures = MixtureBound(self.alpha, self.gamma, self.n_documents, self._sums(log_theta))
        total += mixtures.bound(self.a, self.omega).sum()
        total += len(self.present) * gammaln(self.gamma)
        # The term gamma omega E log theta is part of the bound of the mixtures.
        total += dirichlet_terms(self.doc_topic[self.present], log_theta[self.present])
        eta = np.broadcast_to(self.topic_word_prior, log_words.shape)
        gained = self.topic_word_parameter - eta
        total += (log_gamma_ratio(eta, gained) - gained * log_words).sum()
        total -= log_gamma_ratio(eta.sum(axis=1), gained.sum(axis=1)).sum()
        return float(total)

    def _sums(self, log_theta):
        """E log theta summed over the documents of every collection."""
        sums = np.zeros_like(self.omega)
        np.add.at(sums, self.labels, log_theta[self.present])
        return sums

    def mixtures(self):
        """Means and standard deviations of pi under q."""
        return self.omega, np.sqrt(self.omega * (1 - self.omega) / (self.a + 1))


def maximise_bounds(ascents, n_iter, *, n_jobs=None):
    """The `VariationalAscent`s after iterations in parallel, each until it has converged, but at most `n_iter`."""
    return in_parallel(_maximise, [(ascent, n_iter) for ascent in ascents], n_jobs)


def _maximise(ascent, n_iter, stop):
    # In another process it may be read-only.
    ascent.doc_topic = ascent.doc_topic.copy()
    for _ in range(n_iter):
        ascent.sweep(stop)
        stop()
        ascent.trace.append(ascent.log_joint())
        if ascent.converged:
            break
    return ascent


def expected_logs(parameter):
    """E log of Dirichlet variates, a row of parameters each."""
    return psi(parameter) - psi(parameter.sum(axis=1, keepdims=True))


def dirichlet_terms(parameter, logs):
    """Entropies of Dirichlet distributions, less the expected sum of the logs."""
    return (gammaln(parameter) - parameter * logs).sum() - gammaln(parameter.sum(axis=1)).sum()
