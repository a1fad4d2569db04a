"""Variational EM for compound LDA (George, Xia & Michailidis 2019, appendix E): ascent on a lower bound of log p(w).

q is a product: topics Dir(lambda_k), mixtures Dir(a_j omega_j), proportions Dir(rho_d), and a distribution of the topic
for each word of a document. No step lowers the bound. The terms with a and omega are in `variational_mixtures`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaln, polygamma, psi

from sklda._core.dirichlet import dirichlet_log_density
from sklda._core.gibbs_em import BOUNDS
from sklda._core.newton import newton_on_log
from sklda._core.parallel import NEVER_STOP, in_parallel
from sklda._core.progress import SILENT
from sklda._core.rising import log_gamma_ratio
from sklda._models.compound.priors import LEARNT_GAMMA
from sklda._models.compound.variational_mixtures import Mixtures

# Updates of (rho, q(z)) of a document in one iteration. Chosen, not tuned: the next iteration continues from the last
# values.
_DOCUMENT_UPDATES = 10
# Pairs of document and word in one block of arrays: 16 MB for 128 topics.
_PAIRS = 2**14
# The ascent has converged when an iteration gains less than this, in nats per token. Chosen: a perplexity changes by a
# ten-millionth of itself.
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class AscentState:
    """All that the ascent needs to continue.

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
        None if eta is not learnt.
    n_sweeps : int
        Iterations.
    trace : tuple of float
        The bound after every iteration made with `maximise_bounds`.
    prior_trace : tuple of (float, float)
        (gamma, mean of eta) in every iteration, if one of them is learnt.
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
    prior_trace: tuple = ()


class VariationalAscent:
    """Coordinate ascent on the lower bound of log p(w) from one initialisation.

    It has the interface of a chain, for traces, callbacks and warm starts: `sweep` is one iteration, `log_joint` the
    bound.
    """

    def __init__(self, corpus, priors, state, model):
        self.corpus, self.priors, self.model = corpus, priors, model
        self.alpha, self.gamma, self.eta = state.alpha, state.gamma, state.eta
        # In the same order in memory, on which the rounding of sums depends.
        self.topic_word_parameter = state.topic_word_parameter.copy(order="K")
        self.doc_topic = state.doc_topic.copy()
        self.a, self.omega = state.a.copy(), state.omega.copy()
        self.n_sweeps, self.trace, self.prior_trace = state.n_sweeps, list(state.trace), list(state.prior_trace)
        self.topic_word_prior = priors.topic_word() if self.eta is None else np.full((1, corpus.n_features), self.eta)
        self.counts = corpus.to_counts()
        self.documents = np.repeat(np.arange(corpus.n_documents), np.diff(self.counts.indptr))
        # A document without words has no term in log p(w); without it the bound is tighter.
        self.present = np.flatnonzero(corpus.lengths)
        self.labels = model.collections[self.present]
        self.n_documents = np.bincount(self.labels, minlength=model.n_collections)

    def __reduce__(self):
        return type(self), (self.corpus, self.priors, self.state(), self.model)

    @classmethod
    def initialise(cls, corpus, priors, seed, model, alpha, gamma, eta=None):
        """Begin with random topics and with the same mixture for every collection."""
        J, K = model.n_collections, priors.n_components
        state = AscentState(
            # Each topic close to uniform: a tenth of spread breaks the symmetry between topics.
            topic_word_parameter=np.random.default_rng(seed).gamma(100, 0.01, (K, corpus.n_features)),
            doc_topic=corpus.lengths[:, None] / K + gamma * np.full((1, K), 1 / K),
            a=np.full((J, 1), K * alpha + 1.0),
            omega=np.full((J, K), 1 / K),
            alpha=alpha,
            gamma=gamma,
            eta=eta,
        )
        return cls(corpus, priors, state, model)

    def state(self):
        """A copy of the state, from which ``VariationalAscent(corpus, priors, state, model)`` continues."""
        return AscentState(
            self.topic_word_parameter.copy(order="K"),
            self.doc_topic.copy(),
            self.a.copy(),
            self.omega.copy(),
            self.alpha,
            self.gamma,
            self.eta,
            self.n_sweeps,
            tuple(self.trace),
            tuple(self.prior_trace),
        )

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
        self.a, self.omega = Mixtures(self.alpha, self.gamma, self.n_documents, sums).ascend(self.a, self.omega)
        if self.model.learns:
            self.prior_trace.append((self.gamma, float(self.topic_word_prior.mean())))
            self._learn(sums)
        self.n_sweeps += 1

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
        mixtures = Mixtures(self.alpha, self.gamma, self.n_documents, self._sums(log_theta))
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


def maximise_bounds(ascents, n_iter, *, n_jobs=None, progress=SILENT):
    """Iterate ascents in parallel, each until it has converged, but at most `n_iter` times.

    Parameters
    ----------
    ascents : list of VariationalAscent
    n_iter : int
    n_jobs : int, default=None
        Ascents that run at the same time, as in joblib. Results do not depend on it.
    progress : Progress, optional
        It hears of every iteration.

    Returns
    -------
    list of VariationalAscent
    """
    tasks = [(i, ascent, n_iter, progress) for i, ascent in enumerate(ascents)]
    # Some callbacks have to run in the thread of the caller.
    return in_parallel(_maximise, tasks, n_jobs, always_in_threads=False)


def _maximise(index, ascent, n_iter, progress, stop):
    for _ in range(n_iter):
        progress.before(index)
        ascent.sweep(stop)
        stop()
        ascent.trace.append(ascent.log_joint())
        if progress.after(index, ascent) or ascent.converged:
            break
    return ascent


def expected_logs(parameter):
    """E log of Dirichlet variates, a row of parameters each."""
    return psi(parameter) - psi(parameter.sum(axis=1, keepdims=True))


def dirichlet_terms(parameter, logs):
    """Entropies of Dirichlet distributions, less the expected sum of the logs."""
    return (gammaln(parameter) - parameter * logs).sum() - gammaln(parameter.sum(axis=1)).sum()
