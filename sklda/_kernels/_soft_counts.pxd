"""Topic distributions of the words of a document by CVB0, with the topics fixed."""
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sklda._kernels._barrier cimport load
from sklda._kernels._cvb0 cimport add_scaled
from sklda._kernels._document cimport Document, run_end

cdef extern from "_soft_counts.h" nogil:
    int64_t TOGETHER
    void update_words_shared(
        float* own, const float* base, const int32_t* rows, const int32_t* repeats, int64_t n, const float* counts,
        float* expected, const float* prior, float* weights, int64_t width)
    void update_words_wide(
        float* own, const float* base, const int32_t* rows, const int32_t* repeats, int64_t n, const float* counts,
        float* expected, const float* prior, float* weights, int64_t width)


cdef struct SoftCounts:
    float* own          # (distinct words, P): p(z) of a token of every distinct word, zero in the padding
    int32_t* rows       # (distinct words,): the row of every distinct word
    int32_t* repeats    # (distinct words,): its number of tokens
    int64_t n           # number of distinct words
    float* expected     # (P,): n_k, the sum of repeats times own
    float* prior        # scratch (P,)
    float* before       # scratch (P,)
    float* weights      # scratch (TOGETHER, P)
    bint wide           # whether to use AVX2


cdef inline void update_soft_counts(SoftCounts* soft, const Document* doc, const float* counts) noexcept nogil:
    """One CVB0 update of every distinct word given `counts`, which may be those of the distributions themselves."""
    cdef int64_t i, j, n
    for i in range((soft.n + TOGETHER - 1) // TOGETHER):
        j = i * TOGETHER
        n = min(soft.n - j, TOGETHER)
        if soft.wide:
            update_words_wide(
                soft.own + j * doc.P, doc.base, soft.rows + j, soft.repeats + j, n, counts, soft.expected, soft.prior,
                soft.weights, doc.P,
            )
        else:
            update_words_shared(
                soft.own + j * doc.P, doc.base, soft.rows + j, soft.repeats + j, n, counts, soft.expected, soft.prior,
                soft.weights, doc.P,
            )


cdef inline void set_soft_counts(
    SoftCounts* soft, const Document* doc, int64_t n_updates, double tolerance, const int32_t* stop,
) noexcept nogil:
    """Begin at prior times word weights, and update until the change of n_k, summed over topics, is less than
    `tolerance` times the number of tokens, at most `n_updates` times.
    """
    cdef:
        int64_t P = doc.P, i = 0, j, k, end, _s
        double moved
    soft.n = 0
    while i < doc.n:
        end = run_end(doc, i)
        soft.rows[soft.n], soft.repeats[soft.n] = doc.rows[i], <int32_t>(end - i)
        soft.n += 1
        i = end
    memset(soft.own, 0, soft.n * P * sizeof(float))
    memset(soft.expected, 0, P * sizeof(float))
    memset(soft.before, 0, P * sizeof(float))
    memset(soft.prior, 0, P * sizeof(float))
    for k in range(doc.K):
        soft.prior[k] = <float>doc.prior[k]
    update_soft_counts(soft, doc, soft.before)
    for _s in range(n_updates):
        if load(stop):
            return
        for k in range(P):
            soft.before[k] = soft.expected[k]
        update_soft_counts(soft, doc, soft.expected)
        moved = 0
        for k in range(P):
            moved += fabs(<double>soft.expected[k] - soft.before[k])
        if not moved >= tolerance * doc.n:
            break
    # Without the rounding errors of the updates.
    memset(soft.expected, 0, P * sizeof(float))
    for j in range(soft.n):
        add_scaled(soft.expected, soft.own + j * P, soft.repeats[j], P)
