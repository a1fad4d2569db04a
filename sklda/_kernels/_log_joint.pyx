"""log p(w, z | alpha, eta) with theta and phi integrated out, in nats (George & Doss 2018, equation 2.2's numerator).

A ratio of Gamma functions whose arguments differ by n is a product of n factors. The products are accumulated, and the
logarithm is taken only before they overflow. So a token costs one multiplication, whatever the shape of the priors.
"""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from sklda._kernels._document cimport rescale
from sklda._kernels._log_gamma cimport log_gamma_ratio


ctypedef fused count_t:
    uint16_t
    int32_t


def documents(
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int32_t[::1] topics,            # IN (N,)
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    int32_t[::1] scratch_counts,          # SCRATCH (at least K,)
):
    """log p(z | alpha)."""
    cdef:
        int64_t K = doc_prior.shape[1], d, i, k, row = 0
        bint prior_per_doc = doc_prior.shape[0] > 1
        double prior_total = 0, result = 0, product = 1
        int32_t t
        int32_t* counts = &scratch_counts[0]
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if d == 0 or prior_per_doc:
                row = d
                prior_total = 0
                for k in range(K):
                    prior_total += doc_prior[row, k]
            memset(counts, 0, K * sizeof(int32_t))
            for i in range(offsets[d], offsets[d + 1]):
                t = topics[i]
                product = rescale(product * (doc_prior[row, t] + counts[t]), &result)
                counts[t] += 1
            result -= log_gamma_ratio(prior_total, offsets[d + 1] - offsets[d])
    return result + log(product)


def words(
    const count_t[:, ::1] counts,         # IN (V, P): m_kv
    int64_t K,                            # IN
    const double[::1] word_prior,         # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,      # IN (V, P): eta when each topic has its own; empty otherwise
):
    """The part of log p(w | z, eta) that belongs to these words: sum of log of the rising factorials of eta."""
    cdef:
        int64_t v, k
        int32_t m, n
        double eta = 0, result = 0, product = 1
        bint own = topic_prior.shape[0] > 0
    with nogil:
        for v in range(counts.shape[0]):
            if not own:
                eta = word_prior[v]
            for k in range(K):
                n = counts[v, k]
                if n > 0:
                    if own:
                        eta = topic_prior[v, k]
                    for m in range(n):
                        product = rescale(product * (eta + m), &result)
    return result + log(product)


def totals(
    const int64_t[::1] topic_totals,      # IN (K,): m_k
    const double[::1] prior_totals,       # IN (K,): sum of eta over words
):
    """The rest of log p(w | z, eta)."""
    cdef:
        int64_t k
        double result = 0
    with nogil:
        for k in range(topic_totals.shape[0]):
            result -= log_gamma_ratio(prior_totals[k], topic_totals[k])
    return result
