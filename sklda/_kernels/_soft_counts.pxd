"""Topic distributions of the words of a document by CVB0, with the topics fixed."""
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sklda._kernels._barrier cimport load
from sklda._kernels._cvb0 cimport add_scaled
from sklda._kernels._document cimport Document, run_end
from sklda._kernels._lanes cimport wider_vectors

cdef extern from "_soft_counts.h" nogil:
    int64_t TOGETHER
    void update_words_shared(
        float* own, const float* base, const int32_t* rows, const int32_t* repeats, int64_t n, const float* counts,
        float* expected, const float* prior, float* weights, int64_t width)
    void update_words_wide(
        float* own, const float* base, const int32_t* rows, const int32_t* repeats, int64_t n, const float* counts,
        float* expected, const float* prior, float* weights, int64_t width)


cdef struct SoftCounts:
    const float* base       # word weights, rows of P, zero in the padding
    const int32_t* rows     # the row of every distinct word of the document (n,)
    const int32_t* repeats  # its number of tokens (n,)
    int64_t n               # number of distinct words
    int64_t P
    int64_t together        # words that are updated from the same counts, at most TOGETHER
    const float* prior      # zero in the padding (P,)
    float* own              # p(z) of a token of every distinct word, zero in the padding (n, P)
    float* expected         # n_k, the sum of repeats times own (P,)
    float* before           # scratch (P,)
    float* weights          # scratch (together, P)
    bint wide               # whether to use AVX2


cdef inline void set_scratch(SoftCounts* soft, float* own, float* expected, int64_t P, int64_t together) noexcept nogil:
    """Set the scratch arrays. `expected` has 2 + together rows: the counts and scratch."""
    soft.own, soft.expected, soft.before, soft.weights = own, expected, expected + P, expected + 2 * P
    soft.P, soft.together, soft.wide = P, together, wider_vectors()


cdef inline void set_words(
    SoftCounts* soft, const Document* doc, int32_t* rows, int32_t* repeats, float* prior,
) noexcept nogil:
    """Set the distinct words and the prior to those of a document, in arrays that are given."""
    cdef int64_t i = 0, k, end
    soft.base, soft.rows, soft.repeats, soft.prior, soft.n = doc.base, rows, repeats, prior, 0
    while i < doc.n:
        end = run_end(doc, i)
        rows[soft.n], repeats[soft.n] = doc.rows[i], <int32_t>(end - i)
        soft.n += 1
        i = end
    memset(prior, 0, doc.P * sizeof(float))
    for k in range(doc.K):
        prior[k] = <float>doc.prior[k]


cdef inline void update_soft_counts(SoftCounts* soft, const float* counts) noexcept nogil:
    """One CVB0 update of every distinct word given `counts`, which may be those of the distributions themselves."""
    cdef int64_t j = 0, n
    while j < soft.n:
        n = min(soft.n - j, soft.together)
        if soft.wide:
            update_words_wide(
                soft.own + j * soft.P, soft.base, soft.rows + j, soft.repeats + j, n, counts, soft.expected,
                soft.prior, soft.weights, soft.P,
            )
        else:
            update_words_shared(
                soft.own + j * soft.P, soft.base, soft.rows + j, soft.repeats + j, n, counts, soft.expected,
                soft.prior, soft.weights, soft.P,
            )
        j += n


cdef inline void find_soft_counts(
    SoftCounts* soft, int64_t n_updates, double least, const int32_t* stop,
) noexcept nogil:
    """Begin at prior times word weights, and update until the change of n_k, summed over topics, is less than `least`,
    at most `n_updates` times.
    """
    cdef:
        int64_t P = soft.P, j, k, _s
        double moved
    memset(soft.own, 0, soft.n * P * sizeof(float))
    memset(soft.expected, 0, P * sizeof(float))
    memset(soft.before, 0, P * sizeof(float))
    update_soft_counts(soft, soft.before)
    for _s in range(n_updates):
        if load(stop):
            return
        memcpy(soft.before, soft.expected, P * sizeof(float))
        update_soft_counts(soft, soft.expected)
        moved = 0
        for k in range(P):
            moved += fabs(<double>soft.expected[k] - soft.before[k])
        if not moved >= least:
            break
    # Without the rounding errors of the updates.
    memset(soft.expected, 0, P * sizeof(float))
    for j in range(soft.n):
        add_scaled(soft.expected, soft.own + j * P, soft.repeats[j], P)
