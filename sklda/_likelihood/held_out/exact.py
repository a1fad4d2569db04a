"""The exact log p(w_d | phi, alpha) of short documents with few topics."""

from functools import reduce

import numpy as np
from scipy.special import logsumexp

from sklda._core.rising import log_gamma_ratio

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
