"""Probability of one collapsed sweep from one assignment of topics to another."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t

from sklda._kernels._barrier cimport load
from sklda._kernels._conditional cimport Conditional, open_corpus, open_document, set_total, weigh
from sklda._kernels._document cimport rescale


def log_transition(
    const int32_t[::1] words,                # IN (N,)
    const int64_t[::1] offsets,              # IN (D + 1,)
    const double[:, ::1] doc_prior,          # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,               # IN (D,): the row of each document; empty if all have the first
    const double[::1] word_prior,            # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,         # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,          # IN (K,): sum of eta over words
    const int32_t[::1] before,               # IN (N,): where the sweep starts
    const int32_t[::1] after,                # IN (N,): where it ends
    int32_t[:, ::1] word_topic_counts,       # IN/OUT (V, P): m_kv of `before`; then of `after`
    int64_t[::1] topic_totals,               # IN/OUT (K,): m_k likewise
    double[:, ::1] scratch_double,           # SCRATCH (2, P)
    int32_t[::1] scratch_counts,             # SCRATCH (at least K,)
    const int32_t[::1] stop,                 # IN (1,): another thread may set it; if not zero, end
):
    """log of the product over tokens of the full conditional of ``after[i]``, tokens before i being where `after` is.

    Paper: Chen & Doss (2018), the g_t of equation 4.9.
    """
    cdef:
        int64_t d, i
        int32_t s, t
        double total, result = 0, product = 1
        Conditional c

    with nogil:
        open_corpus(
            &c, doc_prior, row_of, word_prior, topic_prior, prior_totals, &word_topic_counts[0, 0],
            word_topic_counts.shape[1], &topic_totals[0], scratch_counts, &scratch_double[0, 0], &scratch_double[1, 0],
        )
        for d in range(offsets.shape[0] - 1):
            if load(&stop[0]):
                break
            open_document(&c, d, offsets, before)
            for i in range(offsets[d], offsets[d + 1]):
                s = before[i]
                t = after[i]
                word_topic_counts[words[i], s] -= 1
                c.counts[s] -= 1
                topic_totals[s] -= 1
                set_total(&c, s, topic_totals[s])
                total = weigh(&c, words[i])
                product = rescale(product * (c.weights[t] / total), &result)
                word_topic_counts[words[i], t] += 1
                c.counts[t] += 1
                topic_totals[t] += 1
                set_total(&c, t, topic_totals[t])
    return result + log(product)
