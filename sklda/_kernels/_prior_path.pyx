"""Collapsed Gibbs sweeps while the priors move along a line, and the log weights of annealed importance sampling.

At position s the priors are alpha + s a and eta + s b. A sweep leaves p(z | w) under the present priors invariant. Then
the priors move to the next position, and the change of log p(w, z) is the increment of the log weight (Neal 2001). All
counts of a document are known when its sweep ends, so its part of the increment is added there.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from sklda._kernels._barrier cimport load
from sklda._kernels._count_rows cimport count_of
from sklda._kernels._dense cimport Dense, set_rows, set_scratch, store_totals, sweep_document, weigh_topics
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._weight cimport Weight, move_prior, value


cdef struct Path:
    int64_t V
    int64_t K
    int64_t P
    const double* word_base     # eta of a word when topics share it (V,); NULL otherwise
    const float* topic_base     # eta by word when each topic has its own (V, P)
    const double* word_slope    # its slope when topics share it (V,); NULL otherwise
    const double* topic_slope   # its slope by word when each topic has its own (V, K)
    double* word_prior          # eta at the present position, shared (V,); NULL if each topic has its own
    float* topic_prior          # eta at the present position, one for each topic (V, P)
    double* prior_totals        # its sum over words (K,)
    double* next_totals         # SCRATCH (K,)


cdef void move_words(
    Path* path, double s, const uint16_t[:, ::1] rows, const int32_t[:, ::1] long_rows, const int32_t[::1] place,
    const int64_t* totals, Weight* weight,
) noexcept nogil:
    """Move eta to position s. With a weight, add the change of log p(w | z) to it."""
    cdef:
        int64_t v, k, cell
        double base = 0, slope = 0, eta
        float own
    for k in range(path.K):
        path.next_totals[k] = 0
    for v in range(path.V):
        if path.word_base != NULL:
            base = path.word_base[v]
        if path.word_slope != NULL:
            slope = path.word_slope[v]
        if path.word_prior != NULL:
            eta = base + s * slope
            if weight != NULL:
                for k in range(path.K):
                    if count_of(rows, long_rows, place, v, k) > 0:
                        move_prior(weight, path.word_prior[v], eta, count_of(rows, long_rows, place, v, k))
            path.word_prior[v] = eta
            path.next_totals[0] += eta
            continue
        for k in range(path.K):
            cell = v * path.P + k
            if path.word_base == NULL:
                base = path.topic_base[cell]
            if path.word_slope == NULL:
                slope = path.topic_slope[v * path.K + k]
            own = <float>(base + s * slope)
            if weight != NULL and count_of(rows, long_rows, place, v, k) > 0:
                move_prior(weight, path.topic_prior[cell], own, count_of(rows, long_rows, place, v, k))
            path.topic_prior[cell] = own
            path.next_totals[k] += own
    for k in range(path.K):
        if path.word_prior != NULL:
            path.next_totals[k] = path.next_totals[0]
        if weight != NULL:
            weight.result -= log_gamma_ratio(path.next_totals[k], <double>totals[k])
            weight.result += log_gamma_ratio(path.prior_totals[k], <double>totals[k])
        path.prior_totals[k] = path.next_totals[k]


cdef inline void move_alpha(
    Weight* weight, const int32_t* counts, const double* a, const double* b, int64_t K, int64_t n
) noexcept nogil:
    """Add the change of log p(z_d) when alpha moves from a to b; the document has n tokens."""
    cdef int64_t k
    cdef double a_total = 0, b_total = 0
    for k in range(K):
        a_total += a[k]
        b_total += b[k]
        if counts[k] > 0:
            move_prior(weight, a[k], b[k], counts[k])
    weight.result -= log_gamma_ratio(b_total, <double>n) - log_gamma_ratio(a_total, <double>n)


def sweeps(
    const int32_t[::1] words,              # IN (N,): word ids, document by document
    const int64_t[::1] offsets,            # IN (D + 1,)
    const double[:, ::1] doc_base,         # IN (R, K): the distinct rows of alpha at position 0
    const int32_t[::1] base_row_of,        # IN (D,): the row of each document; empty if all have the first
    const double[:, ::1] doc_slope,        # IN (S, K): the distinct rows of its slope
    const int32_t[::1] slope_row_of,       # IN (D,): likewise
    const double[::1] word_base,           # IN (V,): eta at position 0 when topics share it; empty otherwise
    const float[:, ::1] topic_base,        # IN (V, P): eta at position 0 when each topic has its own; empty otherwise
    const double[::1] word_slope,          # IN (V,): its slope when topics share it; empty otherwise
    const double[:, ::1] topic_slope,      # IN (V, K): its slope when each topic has its own; empty otherwise
    const double[::1] positions,           # IN (R + 1,): one sweep at each position but the last
    bint weigh,                            # IN: whether the log weight is needed
    int32_t[::1] topics,                   # IN/OUT (N,): z, -1 where a token has none yet
    uint16_t[:, ::1] rows,                 # IN/OUT (V, P): m_kv, zero in the padding
    int32_t[:, ::1] long_rows,             # IN/OUT (L, P): rows of words with too many tokens for 16 bits
    const int32_t[::1] place,              # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    int vectors,                           # IN: which vectors to use; the draws are the same
    double[::1] word_prior,                # SCRATCH (V,) when topics share base and slope; empty otherwise
    float[:, ::1] topic_prior,             # SCRATCH (V, P), zero in the padding; empty if word_prior is not
    double[:, ::1] scratch_priors,         # SCRATCH (4, K)
    double[:, ::1] scratch_doubles,        # SCRATCH (2, P)
    float[:, ::1] scratch_floats,          # SCRATCH (2, P)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    const int32_t[::1] stop,               # IN (1,): another thread may set it; if not zero, end
):
    """Sweep at each position but the last; return the log weight of the path. If `stop` is set, it is not valid."""
    cdef:
        int64_t D = offsets.shape[0] - 1, d, k, r
        int64_t base_row = 0, slope_row = 0
        double* alpha = &scratch_priors[2, 0]
        double* after = &scratch_priors[3, 0]
        Dense dense
        Path path
        Weight weight

    if words.shape[0] == 0 or positions.shape[0] == 0:
        return 0.0
    weight.result, weight.above, weight.below = 0, 1, 1
    path.V, path.K, path.P = rows.shape[0], topic_totals.shape[0], rows.shape[1]
    path.word_base = &word_base[0] if word_base.shape[0] > 0 else NULL
    path.topic_base = &topic_base[0, 0] if topic_base.shape[0] > 0 else NULL
    path.word_slope = &word_slope[0] if word_slope.shape[0] > 0 else NULL
    path.topic_slope = &topic_slope[0, 0] if topic_slope.shape[0] > 0 else NULL
    path.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    path.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    path.prior_totals, path.next_totals = &scratch_priors[0, 0], &scratch_priors[1, 0]
    set_rows(&dense, rows, long_rows, place, path.K, vectors)
    set_scratch(&dense, scratch_doubles, scratch_floats, scratch_counts)
    dense.word_prior, dense.topic_prior = path.word_prior, path.topic_prior
    dense.prior_totals, dense.state = path.prior_totals, &stream[0]
    with nogil:
        move_words(&path, positions[0], rows, long_rows, place, &topic_totals[0], NULL)
        for r in range(positions.shape[0] - 1):
            for k in range(path.K):
                dense.totals[k] = topic_totals[k]
            weigh_topics(&dense)
            for d in range(D):
                if load(&stop[0]):
                    break
                if base_row_of.shape[0] > 0:
                    base_row = base_row_of[d]
                if slope_row_of.shape[0] > 0:
                    slope_row = slope_row_of[d]
                for k in range(path.K):
                    alpha[k], after[k] = doc_base[base_row, k], doc_slope[slope_row, k]
                    alpha[k], after[k] = alpha[k] + positions[r] * after[k], alpha[k] + positions[r + 1] * after[k]
                sweep_document(&dense, alpha, words, offsets, d, topics)
                if weigh and offsets[d + 1] > offsets[d]:
                    move_alpha(&weight, dense.counts, alpha, after, path.K, offsets[d + 1] - offsets[d])
            store_totals(&dense, topic_totals)
            if load(&stop[0]):
                break
            move_words(&path, positions[r + 1], rows, long_rows, place, &topic_totals[0], &weight if weigh else NULL)
    return value(&weight)
