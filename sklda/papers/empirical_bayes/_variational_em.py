"""Variational EM for the priors h = (alpha, eta): it maximises a lower bound of m(h) and not m(h) itself."""

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, logsumexp

from sklda._core.newton import newton_on_log
from sklda._core.parallel import NEVER_STOP
from sklda._core.rising import log_gamma_ratio
from sklda._models.empirical_bayes.marginal_likelihood import AT_A_TIME
from sklda.papers.empirical_bayes._dirichlet import dirichlet_log_density


@dataclass(frozen=True, eq=False)
class VariationalPosterior:
    """A variational posterior, and the priors h learnt with it."""

    path: np.ndarray  # log (alpha, eta), the first ones and those after every M-step, (n_iter + 1, 2)
    bound: np.ndarray  # the lower bound of log m(h) at the end of every E-step, nats, (n_iter,)
    doc_topic: np.ndarray  # Dirichlet parameters of theta, (n_documents, n_components)
    topic_word: np.ndarray  # Dirichlet parameters of phi, (n_components, n_features)

    def log_h(self):
        """log (alpha, eta) after the last M-step."""
        return self.path[-1]


def ascend(chain, bounds, *, n_iter=100, n_inner=100, tol=1e-7, stop=NEVER_STOP):
    """EM with independent posteriors of theta, phi and z, for the model with a prior of phi.

    The E-step is coordinate ascent on the lower bound of log m(h): tokens given Dirichlets, then Dirichlets given
    tokens. The M-step is Newton's method. This is the VI-EM of George & Doss (2018). In Blei et al. (2003) phi is fixed
    and has no prior.

    The ascent begins with the counts of a chain and its symmetric priors. h stays within `bounds`, ((alpha_low,
    alpha_high), (eta_low, eta_high)). An E-step ends after `n_inner` passes over the corpus, or when a pass adds less
    than the part `tol` of the bound. The ascent ends after `n_iter` M-steps, or when log h moves by less than the
    square root of `tol`. `stop` is called before every pass, and raises to end the ascent.
    """
    posterior = _Posterior(chain)
    log_h = np.clip(np.log([chain.priors.doc[0, 0], chain.priors.word[0]]), *np.log(bounds).T)
    path = [log_h]
    values = []
    for _ in range(n_iter):
        values.append(posterior.e_step(*np.exp(log_h), n_inner, tol, stop))
        parts = zip(posterior.parts(), log_h, bounds, strict=True)
        log_h = np.array([newton_on_log(part, x, interval) for part, x, interval in parts])
        path.append(log_h)
        if np.abs(log_h - path[-2]).max() < np.sqrt(tol):
            break
    return VariationalPosterior(
        path=np.array(path), bound=np.array(values), doc_topic=posterior.gamma, topic_word=posterior.lambda_
    )


class _Posterior:
    """Dirichlet parameters gamma of theta and lambda of phi, and the expected counts that determine them."""

    def __init__(self, chain):
        self.X = csr_array(chain.corpus.to_counts())
        self.doc_counts = chain.doc_topic_counts()
        self.word_counts = chain.word_topic_counts[:, : chain.priors.n_components].T.astype(np.float64)
        # A document without words has no information on alpha.
        self.has_words = chain.corpus.lengths > 0

    def e_step(self, alpha, eta, n_inner, tol, stop):
        """Coordinate ascent at one h; return the last lower bound of log m(h)."""
        bound = -np.inf
        for _ in range(n_inner):
            # Dirichlets given tokens.
            self.gamma = self.doc_counts + alpha
            self.lambda_ = self.word_counts + eta
            self.log_theta = expected_log(self.gamma)
            self.log_phi = expected_log(self.lambda_)
            # Tokens given Dirichlets.
            self.doc_counts, self.word_counts, log_words = _expected_counts(self.X, self.log_theta, self.log_phi, stop)
            before = bound
            bound = log_words - divergence(self.gamma[self.has_words], alpha).sum()
            bound -= divergence(self.lambda_, eta).sum()
            if bound - before < tol * abs(bound):
                break
        return bound

    def parts(self):
        """E log p of theta as a function of alpha, and of phi as a function of eta, for `newton_on_log`."""
        log_theta = self.log_theta[self.has_words]
        D, K = log_theta.shape
        V = self.log_phi.shape[1]
        return (
            partial(dirichlet_log_density, n=D, size=K, log_sums=[log_theta.sum()]),
            partial(dirichlet_log_density, n=K, size=V, log_sums=[self.log_phi.sum()]),
        )


def expected_log(parameters):
    """E log of the entries of Dirichlet vectors, one a row."""
    return digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))


def divergence(parameters, prior):
    """Kullback-Leibler divergence of Dirichlet distributions, one a row, from the symmetric one; nats."""
    gained = parameters - prior
    return (
        log_gamma_ratio(parameters.shape[1] * prior, gained.sum(axis=1))
        - log_gamma_ratio(prior, gained).sum(axis=1)
        + (gained * expected_log(parameters)).sum(axis=1)
    )


def _expected_counts(X, log_theta, log_phi, stop):
    """Counts of topics by document and by word, and the sum over tokens of log sum_k exp(log theta + log phi)."""
    K = log_theta.shape[1]
    doc_counts = np.zeros_like(log_theta)
    word_counts = np.zeros((X.shape[1], K))
    log_words = 0.0
    pairs = max(AT_A_TIME // K, 1)
    edges = np.unique(np.searchsorted(X.indptr, np.arange(0, X.nnz + pairs, pairs), side="right") - 1)
    for first, last in itertools.pairwise(edges):
        stop()
        own = slice(X.indptr[first], X.indptr[last])
        words = X.indices[own]
        counts = X.data[own]
        n = len(words)
        rows = np.repeat(np.arange(first, last), np.diff(X.indptr[first : last + 1]))
        log_p = log_theta[rows] + log_phi[:, words].T
        log_total = logsumexp(log_p, axis=1, keepdims=True)
        share = np.exp(log_p - log_total)
        doc_counts[first:last] = csr_array((counts, np.arange(n), X.indptr[first : last + 1] - own.start)) @ share
        word_counts += csr_array((counts, (words, np.arange(n))), shape=(X.shape[1], n)) @ share
        log_words += counts @ log_total[:, 0]
    return doc_counts, word_counts.T, float(log_words)
