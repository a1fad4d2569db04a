"""One exact sweep of the collapsed Gibbs sampler: dense weights, document by document.

The full conditional of a token of word v in document d (Griffiths & Steyvers 2004; George & Doss 2018):

    p(z = k | rest)  ∝  (n_dk + alpha_dk) (m_kv + eta_kv) / (m_k + sum_v eta_kv),

where the counts exclude the token itself.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from sklda._kernels._cell_histogram cimport Histogram, add_document, open_histogram
from sklda._kernels._dense cimport (
    Dense, set_rows, set_scratch, store_totals, sweep_document, vector_level, weigh_topics,
)


def vectors():
    """The widest vectors that this machine has and the package was built with. 0: baseline; 1: AVX2; 2: AVX-512."""
    return vector_level()


def sweep(
    const int32_t[::1] words,              # IN (N,): word ids, document by document
    const int64_t[::1] offsets,            # IN (D + 1,): document d is words[offsets[d]:offsets[d + 1]]
    const int64_t[::1] order,              # IN: the documents to sweep, in this order
    const double[:, ::1] doc_prior,        # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,             # IN (D,): the row of each document; empty if all have the first
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    int32_t[::1] topics,                   # IN/OUT (N,): z, -1 where a token has none yet
    uint16_t[:, ::1] rows,                 # IN/OUT (V, P): m_kv, zero in the padding
    int32_t[:, ::1] long_rows,             # IN/OUT (L, P): rows of words with too many tokens for 16 bits
    const int32_t[::1] place,              # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    int vectors,                           # IN: which vectors to use, see vectors(); the draws are the same
    double[:, ::1] scratch_doubles,        # SCRATCH (2, P)
    float[:, ::1] scratch_floats,          # SCRATCH (2, P)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    int64_t[:, ::1] histogram,             # IN/OUT (K, W): [k, n] gains the d with n_dk = n, for 0 < n < W
    int32_t[:, ::1] larger,                # IN/OUT (2, at least N / W): gains k and n_dk of every n_dk >= W
    int64_t n_larger,                      # IN: the number of those that are already there
):
    """Sweep the documents; return the new number of counts in `larger`."""
    cdef:
        int64_t d, j, k
        bint several = row_of.shape[0] > 0
        Dense dense
        Histogram h

    if words.shape[0] == 0:
        return n_larger
    set_rows(&dense, rows, long_rows, place, topic_totals.shape[0], vectors)
    set_scratch(&dense, scratch_doubles, scratch_floats, scratch_counts)
    dense.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    dense.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    dense.prior_totals, dense.state = &prior_totals[0], &stream[0]
    with nogil:
        for k in range(dense.K):
            dense.totals[k] = topic_totals[k]
        weigh_topics(&dense)
        h = open_histogram(histogram, larger)
        h.n_larger = n_larger
        for j in range(order.shape[0]):
            d = order[j]
            sweep_document(&dense, &doc_prior[row_of[d] if several else 0, 0], words, offsets, d, topics)
            if offsets[d] < offsets[d + 1]:
                add_document(&h, dense.counts, dense.K, &topics[offsets[d]], offsets[d + 1] - offsets[d])
        store_totals(&dense, topic_totals)
    return h.n_larger
