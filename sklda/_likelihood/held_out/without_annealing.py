"""Estimators of log p(w_d | phi) without annealing: left to right, by particles, Chib-style, and the exact value."""

from functools import reduce

import numpy as np
from scipy.special import logsumexp

from sklda._core.rising import log_gamma_ratio
from sklda._kernels import LANES, _chib, _sequential

# --- Estimators of the log-likelihood of a document that go through its tokens in order; log weights, (n_documents,) --


def left_to_right(block, stop):
    """All earlier tokens are drawn again before each token's probability (Wallach et al. 2009; Buntine 2009)."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.left_to_right(
            *block.arguments,
            log_weights,
            np.empty((2, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty(block.width // LANES),
            stop.flag,
        )
    return log_weights


def particle_filter(block, stop, *, n_particles):
    """The particle filter, with resampling of the particles."""
    log_weights = block.zeros()
    if len(block.words):
        _sequential.particle_filter(
            *block.arguments,
            log_weights,
            np.empty(block.longest, np.int32),
            np.empty((2, n_particles, block.longest), np.int32),
            block.floats(n_particles),
            np.empty((n_particles, block.width), np.int32),
            np.empty(block.width // LANES),
            np.empty(n_particles),
            stop.flag,
        )
    return log_weights


# --- The Chib-style estimator of the log-likelihood of a document (Murray & Salakhutdinov 2009; Wallach et al. 2009) --


# Sweeps before the state whose probability is estimated.
_BURN_IN = 20


def chib(block, stop, *, n_sweeps):
    """Log weights, (n_documents,)."""
    log_weights = block.zeros()
    if len(block.words):
        _chib.chib(
            *block.arguments,
            n_sweeps,
            _BURN_IN,
            log_weights,
            np.empty((4, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty((2, max(block.width // LANES, n_sweeps))),
            stop.flag,
        )
    return log_weights


# --- The exact log-likelihood of short documents with few topics ------------------------------------------------------


# The largest number of products for one document: some seconds of computation.
_MOST_PRODUCTS = 2e8


def exact(corpus, topic_word, doc_topic_prior):
    """log p(w_d | phi, alpha) of every document, (n_documents,); ValueError if one is too long for so many topics."""
    values = []
    for d in range(corpus.n_documents):
        words, counts = np.unique(corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]], return_counts=True)
        alpha = doc_topic_prior[d if len(doc_topic_prior) > 1 else 0]
        n, K = int(counts.sum()), len(alpha)
        if n == 0:
            values.append(0.0)
            continue
        # Logarithms, because the power may exceed all floats.
        log_sums = (K - 1) * np.log10(n + 1)
        if np.log10(K * n) + log_sums > np.log10(_MOST_PRODUCTS):
            raise ValueError(
                f"document {d} has {n} tokens: method='exact' would sum over about 10^{log_sums:.0f} counts of its {K} "
                "topics. Use method='guided_ais', or fewer topics or shorter documents."
            )
        values.append(_log_likelihood(np.repeat(topic_word[:, words].T, counts, axis=0), alpha))
    return np.array(values)


def _log_likelihood(phi, alpha):
    """log p of tokens whose columns of phi are the rows of `phi` (n_tokens, n_components), by dynamic programming.

    The sum is over topic counts. Their weights are the coefficients of the polynomial prod_i (sum_k phi_ik x_k), times
    Dirichlet-multinomial moments.
    """
    n, K = phi.shape
    coefficients, log_scale = np.ones((1,) * (K - 1)), 0.0
    for row in phi:
        coefficients = _times_linear(coefficients, row)
        largest = coefficients.max()
        if largest == 0:
            return -np.inf
        coefficients, log_scale = coefficients / largest, log_scale + np.log(largest)
    axes = np.indices(coefficients.shape, sparse=True)
    # The count of the last topic follows from the others.
    last = n - sum(axes)
    possible = last >= 0
    log_moment = log_gamma_ratio(alpha[-1], np.maximum(last, 0)) - log_gamma_ratio(alpha.sum(), n)
    log_moment = reduce(lambda total, k: total + log_gamma_ratio(alpha[k], axes[k]), range(K - 1), log_moment)
    with np.errstate(divide="ignore"):
        terms = np.where(possible, np.log(coefficients) + log_moment, -np.inf)
    return logsumexp(terms) + log_scale


def _times_linear(coefficients, row):
    """Coefficients of a polynomial times sum_k row_k x_k, by the counts of all topics but the last."""
    K = len(row)
    size = coefficients.shape[0] + 1 if K > 1 else 1
    grown = np.zeros((size,) * (K - 1))
    inner = tuple(slice(0, size - 1) for _ in range(K - 1))
    grown[inner] += row[K - 1] * coefficients
    for k in range(K - 1):
        grown[tuple(slice(1, size) if j == k else s for j, s in enumerate(inner))] += row[k] * coefficients
    return grown
