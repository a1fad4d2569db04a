"""Draw tokens from their full conditionals with dense weights, and update all counts (see _collapsed.pyx)."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport (
    LANES, PREFETCH, choose_lane, lane_sums_own, lane_sums_shared, lane_sums_wide, lane_table, search, tabulate,
)
from sklda._kernels._xoshiro cimport uniform


cdef struct Dense:
    int32_t* rows               # m_kv by word, zero in the padding (V, P)
    const double* word_prior    # eta of a word when topics share it
    const float* topic_prior    # eta by word when each topic has its own (V, P); NULL otherwise
    const double* alpha         # of the document (K,)
    int64_t K
    int64_t P
    bint wide                   # whether to use AVX2
    const double* prior_totals  # sum of eta over words (K,)
    double* totals              # m_k (K,); the sum of eta is kept apart, because rounding would lose a small one
    float* inverse              # 1 / (m_k + sum of eta) (K,)
    float* scale                # (n_dk + alpha_k) inverse_k: the weight without the factor m_kv + eta (P,)
    int32_t* counts             # n_dk (P,)
    double* walked              # scratch (P // LANES,)
    uint64_t* state


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


cdef inline void fetch(Dense* dense, int32_t word) noexcept nogil:
    cdef:
        int64_t j
        const int32_t* ahead = dense.rows + word * dense.P
    for j in range(0, dense.P, 16):
        PREFETCH(ahead + j)


cdef inline void shift(Dense* dense, int32_t* row, int32_t topic, int32_t step, double total) noexcept nogil:
    """Add `step`, 1 or -1, to the counts of a topic. Its m_k + sum of eta becomes `total`."""
    row[topic] += step
    dense.counts[topic] += step
    dense.totals[topic] += step
    dense.inverse[topic] = <float>(1.0 / total)
    dense.scale[topic] = (<float>dense.counts[topic] + <float>dense.alpha[topic]) * dense.inverse[topic]


cdef inline int32_t draw(Dense* dense, int32_t word, int32_t t) noexcept nogil:
    """Draw and return the topic of a token of the open document. Its topic was t, or -1 if it had none yet."""
    cdef:
        float[16] sums
        lane_table table
        int64_t P = dense.P, n_blocks = P // LANES, j, k
        int lane
        double u, stay, left = 0, total = 0, eta
        float* scale = dense.scale
        double* walked = dense.walked
        int32_t* row = dense.rows + word * P
        const float* prior_row = NULL
        # The lane sums exclude the current topic: if its weight were subtracted, rounding could lose small weights.
        float kept = 0
        int32_t new
    if t >= 0:
        kept, scale[t] = scale[t], 0
    if dense.topic_prior != NULL:
        prior_row = dense.topic_prior + word * P
        eta = prior_row[t] if t >= 0 else 0
        lane_sums_own(row, prior_row, scale, P, sums)
    else:
        eta = dense.word_prior[word]
        if dense.wide:
            lane_sums_wide(row, <float>eta, scale, P, sums)
        else:
            lane_sums_shared(row, <float>eta, scale, P, sums)
    stay = 0
    if t >= 0:
        left = dense.totals[t] - 1 + dense.prior_totals[t]
        stay = (dense.counts[t] - 1 + dense.alpha[t]) * (row[t] - 1 + eta) / left
    tabulate(sums, &table)
    u = uniform(dense.state) * (table.total + stay) - stay
    if u < 0:
        scale[t] = kept
        return t
    lane = choose_lane(&table, sums, &u)
    for j in range(n_blocks):
        k = lane + j * LANES
        total += (<double>row[k] + (prior_row[k] if prior_row != NULL else eta)) * scale[k]
        walked[j] = total
    new = <int32_t>(lane + search(walked, n_blocks, u) * LANES)
    if t >= 0:
        shift(dense, row, t, -1, left)
    shift(dense, row, new, 1, dense.totals[new] + 1 + dense.prior_totals[new])
    return new


cdef inline int sweep_document(
    Dense* dense,
    const double* alpha,
    const int32_t[::1] words,
    const int64_t[::1] offsets,
    int64_t d,
    int32_t[::1] topics,
    int64_t[::1] topic_totals,
) except -1 nogil:
    """Draw every token of document d, whose alpha is given. A token may have no topic yet, -1."""
    cdef:
        int64_t N = words.shape[0], i
        int32_t t, new
    open_document(dense, alpha, &topics[0] + offsets[d], offsets[d + 1] - offsets[d])
    for i in range(offsets[d], offsets[d + 1]):
        if i + 2 < N:
            fetch(dense, words[i + 2])
        t = topics[i]
        new = draw(dense, words[i], t)
        if new != t:
            topics[i] = new
            if t >= 0:
                topic_totals[t] -= 1
            topic_totals[new] += 1
    return 0
