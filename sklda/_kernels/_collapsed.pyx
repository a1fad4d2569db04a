"""One exact sweep of the collapsed Gibbs sampler: dense weights, document by document.

The full conditional of a token of word v in document d (Griffiths & Steyvers 2004; George & Doss 2018):

    p(z = k | rest)  ∝  (n_dk + alpha_dk) (m_kv + eta_kv) / (m_k + sum_v eta_kv),

where the counts exclude the token itself.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._dense cimport Dense, sweep_document, weigh_topics
from sklda._kernels._lanes cimport wider_vectors


def wide_vectors():
    """Whether this machine has AVX2 and the package was built with it."""
    return bool(wider_vectors())


def sweep(
    const int32_t[::1] words,              # IN (N,): word ids, document by document
    const int64_t[::1] offsets,            # IN (D + 1,): document d is words[offsets[d]:offsets[d + 1]]
    const int64_t[::1] order,              # IN: the documents to sweep, in this order
    const double[:, ::1] doc_prior,        # IN (1 or D, K): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    int32_t[::1] topics,                   # IN/OUT (N,): z, -1 where a token has none yet
    int32_t[:, ::1] word_topic_counts,     # IN/OUT (V, P): m_kv, zero in the padding
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    bint wide,                             # IN: use AVX2, see wide_vectors(); the draws are the same
    double[::1] scratch_totals,            # SCRATCH (P,)
    float[:, ::1] scratch_float,           # SCRATCH (2, P)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[::1] scratch_lane,              # SCRATCH (P // LANES,)
):
    cdef:
        int64_t d, j, k
        bint prior_per_doc = doc_prior.shape[0] > 1
        Dense dense

    if words.shape[0] == 0:
        return
    dense.rows, dense.K, dense.P = &word_topic_counts[0, 0], topic_totals.shape[0], word_topic_counts.shape[1]
    dense.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    dense.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    dense.wide, dense.state = wide, &stream[0]
    dense.totals, dense.prior_totals = &scratch_totals[0], &prior_totals[0]
    dense.scale, dense.inverse = &scratch_float[0, 0], &scratch_float[1, 0]
    dense.counts, dense.walked = &scratch_counts[0], &scratch_lane[0]
    with nogil:
        for k in range(dense.K):
            dense.totals[k] = topic_totals[k]
        weigh_topics(&dense)
        for j in range(order.shape[0]):
            d = order[j]
            sweep_document(&dense, &doc_prior[d if prior_per_doc else 0, 0], words, offsets, d, topics, topic_totals)
