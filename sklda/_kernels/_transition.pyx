"""Probability of one collapsed sweep from one assignment of topics to another."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sklda._kernels._document cimport rescale
from sklda._kernels._meeting cimport look


def log_transition(
    const int32_t[::1] words,                # IN (N,)
    const int64_t[::1] offsets,              # IN (D + 1,)
    const double[:, ::1] doc_prior,          # IN (1 or D, K): alpha
    const double[::1] word_prior,            # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,         # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,          # IN (K,): sum of eta over words
    const int32_t[::1] before,               # IN (N,): where the sweep starts
    const int32_t[::1] after,                # IN (N,): where it ends
    int32_t[:, ::1] word_topic_counts,       # IN/OUT (V, P): m_kv of `before`; then of `after`
    int64_t[::1] topic_totals,               # IN/OUT (K,): m_k likewise
    double[:, ::1] scratch_double,           # SCRATCH (2, P)
    int32_t[::1] scratch_counts,             # SCRATCH (at least K,)
    const int32_t[::1] stop,                 # IN (1,): not zero: end, which another thread may ask for meanwhile
):
    """log of the product over tokens of the full conditional of ``after[i]``, tokens before i being where `after` is.

    Paper: Chen & Doss (2018), the g_t of equation 4.9.
    """
    cdef:
        int64_t K = topic_totals.shape[0], d, i, k
        int32_t s, t
        bint own = topic_prior.shape[0] > 0
        bint prior_per_doc = doc_prior.shape[0] > 1
        double eta = 0, total, result = 0, product = 1
        const double* alpha
        const int32_t* row
        double* inverse = &scratch_double[0, 0]
        double* weights = &scratch_double[1, 0]
        int32_t* counts = &scratch_counts[0]

    with nogil:
        for k in range(K):
            inverse[k] = 1.0 / (topic_totals[k] + prior_totals[k])
        for d in range(offsets.shape[0] - 1):
            if look(&stop[0]):
                break
            alpha = &doc_prior[d if prior_per_doc else 0, 0]
            memset(counts, 0, K * sizeof(int32_t))
            for i in range(offsets[d], offsets[d + 1]):
                counts[before[i]] += 1
            for i in range(offsets[d], offsets[d + 1]):
                s = before[i]
                t = after[i]
                word_topic_counts[words[i], s] -= 1
                counts[s] -= 1
                topic_totals[s] -= 1
                inverse[s] = 1.0 / (topic_totals[s] + prior_totals[s])
                row = &word_topic_counts[words[i], 0]
                total = 0
                if own:
                    for k in range(K):
                        weights[k] = (counts[k] + alpha[k]) * (row[k] + topic_prior[words[i], k]) * inverse[k]
                        total += weights[k]
                else:
                    eta = word_prior[words[i]]
                    for k in range(K):
                        weights[k] = (counts[k] + alpha[k]) * (row[k] + eta) * inverse[k]
                        total += weights[k]
                product = rescale(product * (weights[t] / total), &result)
                word_topic_counts[words[i], t] += 1
                counts[t] += 1
                topic_totals[t] += 1
                inverse[t] = 1.0 / (topic_totals[t] + prior_totals[t])
    return result + log(product)
