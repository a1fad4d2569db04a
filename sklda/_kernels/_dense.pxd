"""Draw tokens from their full conditionals with dense weights, and update all counts (see _collapsed.pyx)."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memset

cdef extern from "_dense.h" nogil:
    ctypedef struct Dense "dense_state":
        uint16_t* rows
        int32_t* long_rows
        const int32_t* place
        const double* word_prior
        const float* topic_prior
        const double* prior_totals
        const double* alpha
        int64_t K
        int64_t P
        int vectors
        double* totals
        float* inverse
        float* scale
        int32_t* counts
        double* running
        uint64_t* state
    int vector_level()
    void draw_tokens(
        const Dense* dense, const int32_t* words, int64_t n_words, int64_t first, int64_t n, int64_t step,
        int64_t next, int32_t* topics)


cdef inline void set_rows(
    Dense* dense,
    uint16_t[:, ::1] rows,         # IN/OUT (V, P): m_kv, zero in the padding and for words with long rows
    int32_t[:, ::1] long_rows,     # IN/OUT (L, P): the rows of words with more tokens than 16 bits can count
    const int32_t[::1] place,      # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t K,
    int vectors,                   # IN: the draws do not depend on it
) noexcept nogil:
    dense.rows, dense.K, dense.P = &rows[0, 0], K, rows.shape[1]
    dense.long_rows = &long_rows[0, 0] if long_rows.shape[0] > 0 else NULL
    dense.place = &place[0] if long_rows.shape[0] > 0 and place.shape[0] == rows.shape[0] else NULL
    dense.vectors = min(vectors, vector_level())


cdef inline void set_scratch(
    Dense* dense,
    double[:, ::1] doubles,        # SCRATCH (2, P)
    float[:, ::1] floats,          # SCRATCH (2, P)
    int32_t[::1] counts,           # SCRATCH (P,)
) noexcept nogil:
    dense.totals, dense.running = &doubles[0, 0], &doubles[1, 0]
    dense.scale, dense.inverse = &floats[0, 0], &floats[1, 0]
    dense.counts = &counts[0]


cdef inline void weigh_topics(Dense* dense) noexcept nogil:
    """Compute `inverse` from the totals. Set `scale` to zero, padding included."""
    cdef int64_t k
    memset(dense.scale, 0, dense.P * sizeof(float))
    for k in range(dense.K):
        dense.inverse[k] = <float>(1.0 / (dense.totals[k] + dense.prior_totals[k]))


cdef inline void open_document(Dense* dense, const double* alpha, const int32_t* topics, int64_t n) noexcept nogil:
    cdef int64_t i, k
    dense.alpha = alpha
    memset(dense.counts, 0, dense.P * sizeof(int32_t))
    for i in range(n):
        if topics[i] >= 0:
            dense.counts[topics[i]] += 1
    for k in range(dense.K):
        dense.scale[k] = (<float>dense.counts[k] + <float>alpha[k]) * dense.inverse[k]


cdef inline void sweep_document(
    Dense* dense,
    const double* alpha,
    const int32_t[::1] words,
    const int64_t[::1] offsets,
    int64_t d,
    int32_t[::1] topics,
) noexcept nogil:
    """Draw every token of document d, whose alpha is given. A token may have no topic yet, -1."""
    cdef int64_t n = offsets[d + 1] - offsets[d]
    if n > 0:
        open_document(dense, alpha, &topics[offsets[d]], n)
        draw_tokens(dense, &words[0], words.shape[0], offsets[d], n, 1, offsets[d + 1], &topics[0])
    else:
        memset(dense.counts, 0, dense.P * sizeof(int32_t))


cdef inline void store_totals(const Dense* dense, int64_t[::1] topic_totals) noexcept nogil:
    cdef int64_t k
    for k in range(dense.K):
        topic_totals[k] = <int64_t>dense.totals[k]


cdef inline void change_count(const Dense* dense, int64_t v, int64_t k, int32_t step) noexcept nogil:
    """Add `step` to m_kv."""
    if dense.place != NULL and dense.place[v] >= 0:
        dense.long_rows[dense.place[v] * dense.P + k] += step
    else:
        dense.rows[v * dense.P + k] += step
