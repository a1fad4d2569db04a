"""Variational EM for compound LDA (George, Xia & Michailidis 2019, appendix E): ascent on a bound of log p(w).

q is a product: topics Dir(lambda_k), mixtures Dir(a_j omega_j), proportions Dir(rho_d), and a distribution of the topic
for each word of a document. The one expectation without a closed form is bounded from above, for x = gamma pi_jk:
log Gamma(x) + log x - x log x is concave (its second derivative, psi'(1 + x) - 1 / x, is negative), so that with
m = gamma omega_jk

    E log Gamma(x) <= log Gamma(m) + (1 - m) [log omega_jk + psi(a) - psi(a omega_jk)] + gamma (1 - omega_jk) / a,

which is equation 65 (Kim, Voelker & Saul 2013, theorem 3.1). Every step raises the bound or leaves it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, polygamma, psi

from sklda.inference.compound_priors import newton_on_logs
from sklda.inference.parallel import GO_ON
from sklda.inference.priors import SMALLEST

# Updates of (rho, q(z)) in an E-step, and rounds of (omega, a) in an M-step.
_DOCUMENT_UPDATES, _MIXTURE_UPDATES = 10, 10
# Pairs of document and word whose topics are worked out at a time.
_PAIRS = 2**14
# Gain in nats a token below which the ascent has converged.
_TOLERANCE = 1e-7


class Mixtures:
    """What the bound has of q(pi_j) = Dir(a_j omega_j), and Newton steps that never lower it.

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
        """(n_collections,), up to what depends on neither a nor omega."""
        t, m = a * omega, self.gamma * omega
        terms = (self.alpha - t) * (psi(t) - psi(a)) + gammaln(t) + self.gamma * omega * self.log_theta
        terms -= self.n * self.log_gamma_bound(a, omega, m)
        return (terms.sum(axis=1, keepdims=True) - gammaln(a))[:, 0]

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
        for _ in range(_MIXTURE_UPDATES):
            slope, curvature = self.omega_slopes(a, omega)
            inverse = 1 / np.maximum(np.abs(curvature), 1e-300)
            mean = (slope * inverse).sum(axis=1, keepdims=True) / inverse.sum(axis=1, keepdims=True)
            step = (slope - mean) * inverse
            # Not past 0.99 of the way to the edge of the simplex.
            with np.errstate(divide="ignore", over="ignore"):
                step *= np.minimum(1, 0.99 / np.max(-step / omega, axis=1, keepdims=True, initial=1e-300))
            before = value
            omega, value = self._search(_along(a, omega, step), 1, omega, value)
            slope, curvature = self.a_slopes(a, omega)
            # With respect to log a.
            slope, curvature = slope * a, np.abs(curvature * a**2 + slope * a)
            step = np.clip(slope / np.maximum(curvature, 1e-300), -2, 2)
            a, value = self._search(_scaled(a, omega, step), 0, a, value)
            if (value - before <= 1e-10 * np.abs(value)).all():
                break
        return a, omega

    def _search(self, move, which, old, value):
        """For each collection the longest of the steps 1, 1/2, 1/4, ... that raises the bound, or none."""
        new, best, open_ = old, value, np.ones(len(value), bool)
        for halvings in range(20):
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
    return lambda s: (np.clip(a * np.exp(s * log_step), 1e-6, 1e15), omega)


def simplex(omega):
    """Rows that sum to one, no entry below 1e-12."""
    omega = np.maximum(omega, SMALLEST)
    return omega / omega.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class VariationalState:
    """All that the ascent needs to go on.

    Attributes
    ----------
    topic_word_parameter : ndarray of shape (n_components, n_features)
        lambda.
    doc_topic : ndarray of shape (n_documents, n_components)
        rho.
    a : ndarray of shape (n_collections, 1)
    omega : ndarray of shape (n_collections, n_components)
    alpha, gamma : float
    eta : float or None
        None where eta is not learned.
    n_sweeps : int
    trace : tuple of float
        The bound after every iteration made with ``run_chains``.
    learned : tuple of (float, float)
        (gamma, eta) after every iteration.
    """

    topic_word_parameter: np.ndarray
    doc_topic: np.ndarray
    a: np.ndarray
    omega: np.ndarray
    alpha: float
    gamma: float
    eta: float | None
    n_sweeps: int = 0
    trace: tuple = ()
    learned: tuple = ()


class VariationalFit:
    """The state of the ascent, with the ways of a chain: `sweep` is one iteration, `log_joint` the bound."""

    def __init__(self, corpus, priors, state, model):
        self.corpus, self.priors, self.model = corpus, priors, model
        self.alpha, self.gamma, self.eta = state.alpha, state.gamma, state.eta
        # In the same order in memory, on which the rounding of sums depends.
        self.topic_word_parameter = state.topic_word_parameter.copy(order="K")
        self.doc_topic = state.doc_topic.copy()
        self.a, self.omega = state.a.copy(), state.omega.copy()
        self.n_sweeps, self.trace, self.learned = state.n_sweeps, list(state.trace), list(state.learned)
        # What has been learned takes the place of the prior given.
        self.topic_word_prior = priors.topic_word() if self.eta is None else np.full((1, corpus.n_features), self.eta)
        self.counts = corpus.to_counts()
        self.documents = np.repeat(np.arange(corpus.n_documents), np.diff(self.counts.indptr))
        # A document without words is no evidence: left out, the bound is tighter.
        self.present = np.flatnonzero(corpus.lengths)
        self.labels = model.collections[self.present]
        self.n_documents = np.bincount(self.labels, minlength=model.n_collections)

    def __reduce__(self):
        return type(self), (self.corpus, self.priors, self.snapshot(), self.model)

    @classmethod
    def start(cls, corpus, priors, seed, model, alpha, gamma, eta=None):
        """Begin with random topics and with the same mixture for every collection."""
        J, K = model.n_collections, priors.n_components
        state = VariationalState(
            topic_word_parameter=np.random.default_rng(seed).gamma(100, 0.01, (K, corpus.n_features)),
            doc_topic=corpus.lengths[:, None] / K + gamma * np.full((1, K), 1 / K),
            a=np.full((J, 1), K * alpha + 1.0),
            omega=np.full((J, K), 1 / K),
            alpha=alpha,
            gamma=gamma,
            eta=eta,
        )
        return cls(corpus, priors, state, model)

    def snapshot(self):
        """A copy of the state, from which ``VariationalFit(corpus, priors, state, model)`` goes on."""
        return VariationalState(
            self.topic_word_parameter.copy(order="K"),
            self.doc_topic.copy(),
            self.a.copy(),
            self.omega.copy(),
            self.alpha,
            self.gamma,
            self.eta,
            self.n_sweeps,
            tuple(self.trace),
            tuple(self.learned),
        )

    @property
    def converged(self):
        return len(self.trace) > 1 and self.trace[-1] - self.trace[-2] < _TOLERANCE * self.corpus.n_tokens

    def on_cores(self, n_jobs, work):
        """As a `GibbsChain`: one core is all it takes."""
        return work(GO_ON)

    def sweep(self, stop=GO_ON):
        """One iteration: documents, topics, mixtures and, where they are learned, gamma and eta."""
        log_words = expected_logs(self.topic_word_parameter).T
        expected = np.zeros((self.corpus.n_features, self.omega.shape[1]))
        prior = self.gamma * self.omega[self.model.collections]
        for first, last in self._blocks():
            self._documents(first, last, log_words, prior, expected, stop)
        self.topic_word_parameter = expected.T + self.topic_word_prior
        sums = self._sums(expected_logs(self.doc_topic))
        self.a, self.omega = Mixtures(self.alpha, self.gamma, self.n_documents, sums).ascend(self.a, self.omega)
        if self.eta is not None:
            self._learn(sums)
        self.n_sweeps += 1

    def _blocks(self):
        indptr = self.counts.indptr
        edges = np.searchsorted(indptr, np.arange(0, indptr[-1], _PAIRS), side="right") - 1
        edges = np.unique(np.concatenate([edges, [self.corpus.n_documents]]))
        return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)

    def _documents(self, first, last, log_words, prior, expected, stop):
        """rho and q(z) of some documents in turn, started where the last iteration ended."""
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
            rho = prior[first:last].copy()
            rho[present] += np.add.reduceat(share, starts, axis=0)
        self.doc_topic[first:last] = rho
        np.add.at(expected, words, share)

    def _learn(self, log_theta):
        """gamma and eta at the maximum of the bound given the rest (equations 87, 88)."""
        a, omega, n = self.a, self.omega, self.n_documents[:, None]
        linear = (omega * (np.log(a * omega) - psi(a * omega) + log_theta / np.maximum(n, 1)) * n).sum()
        linear -= (n * ((omega.shape[1] - 1) / a + np.log(a) - psi(a))).sum()

        def gamma_slopes(gamma):
            first = n.sum() * psi(gamma) - (n * omega * psi(gamma * omega)).sum() + linear
            return first, n.sum() * polygamma(1, gamma) - (n * omega**2 * polygamma(1, gamma * omega)).sum()

        K, V = self.topic_word_parameter.shape
        words = expected_logs(self.topic_word_parameter).sum()

        def eta_slopes(eta):
            return (
                K * V * (psi(V * eta) - psi(eta)) + words,
                K * V * (V * polygamma(1, V * eta) - polygamma(1, eta)),
            )

        self.gamma, self.eta = newton_on_logs(gamma_slopes, self.gamma), newton_on_logs(eta_slopes, self.eta)
        self.topic_word_prior = np.full((1, V), self.eta)
        self.learned.append((self.gamma, self.eta))

    def log_joint(self):
        """The lower bound on log p(w), in nats."""
        log_theta, log_words = expected_logs(self.doc_topic), expected_logs(self.topic_word_parameter)
        total = 0.0
        for first, last in self._blocks():
            own = slice(self.counts.indptr[first], self.counts.indptr[last])
            terms = log_words.T[self.counts.indices[own]] + log_theta[self.documents[own]]
            largest = terms.max(axis=1)
            total += self.counts.data[own] @ (largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1)))
        J, K = self.omega.shape
        total += (
            Mixtures(self.alpha, self.gamma, self.n_documents, self._sums(log_theta)).bound(self.a, self.omega).sum()
        )
        total += J * (gammaln(K * self.alpha) - K * gammaln(self.alpha))
        total += len(self.present) * gammaln(self.gamma)
        # The term gamma omega E log theta is in the bound of the mixtures.
        total += dirichlet_terms(self.doc_topic[self.present], log_theta[self.present], 0.0)
        eta = np.broadcast_to(self.topic_word_prior, log_words.shape)
        total += dirichlet_terms(self.topic_word_parameter, log_words, eta)
        total += (gammaln(eta.sum(axis=1)) - gammaln(eta).sum(axis=1)).sum()
        return float(total)

    def _sums(self, log_theta):
        """E log theta summed over the documents of every collection."""
        sums = np.zeros_like(self.omega)
        np.add.at(sums, self.labels, log_theta[self.present])
        return sums

    def mixtures(self):
        return self.omega, np.sqrt(self.omega * (1 - self.omega) / (self.a + 1))

    def alpha_mean(self):
        return self.alpha


def expected_logs(parameter):
    """E log of Dirichlet variates, a row of parameters each."""
    return psi(parameter) - psi(parameter.sum(axis=1, keepdims=True))


def dirichlet_terms(parameter, logs, prior):
    """Entropies of Dirichlet distributions, and the expected log of the kernel of their prior."""
    return ((prior - parameter) * logs + gammaln(parameter)).sum() - gammaln(parameter.sum(axis=1)).sum()
