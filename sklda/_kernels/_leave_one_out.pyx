"""p(w_d | z and w of the other documents), theta and phi integrated out, by annealing of the document's topics.

Given z of the other documents, phi_k ~ Dir(b_k), where b = m + eta and m excludes the document. The path is

    f_c(z_d) = p(z_d, w_d | theta ~ Dir(alpha + c a), phi_k ~ Dir((1 + c) b_k)),      a = E(n_d) + alpha,

from c = infinity, where theta and phi are fixed and tokens independent, to c = 0. The result is sum_z f_0.
"""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._document cimport Document, rescale
from sklda._kernels._lanes cimport LANES, choose_lane, lane_sums_own, lane_table, search, tabulate
from sklda._kernels._soft_counts cimport TOGETHER, SoftCounts, find_soft_counts, set_scratch, set_words
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef struct Urn:
    int64_t n, K, P
    int64_t n_rows          # distinct words
    int32_t* rows           # index of the distinct word of each token (n,)
    int32_t* topics         # (n,)
    double* base            # b by word, zero in the padding, rows of P
    double* base_totals     # b_k (P,)
    double* guide           # a (P,)
    float* prior            # (1 + c) b
    int32_t* counts         # n_dkv
    double* totals          # (1 + c) b_k
    double* alpha           # alpha + c a
    int32_t* doc_counts     # n_dk
    float* scale            # (n_dk + alpha_k) / (n_dk + totals_k), zero in the padding (P,)
    double* walked          # (P // LANES,)
    uint64_t* state


cdef inline void set_scale(Urn* urn, int64_t k) noexcept nogil:
    urn.scale[k] = <float>((urn.doc_counts[k] + urn.alpha[k]) / (urn.doc_counts[k] + urn.totals[k]))


cdef inline void move(Urn* urn, int64_t i, int32_t by) noexcept nogil:
    """Add token i to the counts (by = 1), or remove it (by = -1)."""
    cdef int32_t t = urn.topics[i]
    urn.counts[urn.rows[i] * urn.P + t] += by
    urn.doc_counts[t] += by
    set_scale(urn, t)


cdef inline double draw(Urn* urn, int64_t i, bint keep) noexcept nogil:
    """Draw the topic of token i, which is not counted; with `keep`, do not draw. Return the sum of its weights."""
    cdef:
        float[16] sums
        lane_table table
        const float* prior = urn.prior + urn.rows[i] * urn.P
        const int32_t* counts = urn.counts + urn.rows[i] * urn.P
        int64_t j, k, n_blocks = urn.P // LANES
        int lane
        double u, total = 0
    lane_sums_own(counts, prior, urn.scale, urn.P, sums)
    tabulate(sums, &table)
    if keep:
        return table.total
    u = uniform(urn.state) * table.total
    lane = choose_lane(&table, sums, &u)
    for j in range(n_blocks):
        k = lane + j * LANES
        total += (<double>counts[k] + prior[k]) * urn.scale[k]
        urn.walked[j] = total
    urn.topics[i] = <int32_t>(lane + search(urn.walked, n_blocks, u) * LANES)
    return table.total


cdef void sweep(Urn* urn) noexcept nogil:
    cdef int64_t i
    for i in range(urn.n):
        move(urn, i, -1)
        draw(urn, i, False)
        move(urn, i, 1)


cdef void set_priors(Urn* urn, const double* alpha, double base, double guide) noexcept nogil:
    """Set phi_k ~ Dir(base b_k) and theta ~ Dir(alpha + guide a), where NULL stands for alpha = 0. Clear the counts."""
    cdef int64_t j, k
    for j in range(urn.n_rows * urn.P):
        urn.prior[j] = <float>(base * urn.base[j])
    for k in range(urn.K):
        urn.totals[k] = base * urn.base_totals[k]
        urn.alpha[k] = guide * urn.guide[k] + (alpha[k] if alpha != NULL else 0)
    clear(urn)


cdef void clear(Urn* urn) noexcept nogil:
    cdef int64_t k
    memset(urn.counts, 0, urn.n_rows * urn.P * sizeof(int32_t))
    memset(urn.doc_counts, 0, urn.P * sizeof(int32_t))
    for k in range(urn.K):
        set_scale(urn, k)


cdef double log_joint(Urn* urn) noexcept nogil:
    """log f_c(z_d), as a product over tokens given the tokens before. Afterwards all tokens are counted."""
    cdef:
        int64_t i, k
        int32_t t
        double result = 0, product = 1, alpha_total = 0
    clear(urn)
    for k in range(urn.K):
        alpha_total += urn.alpha[k]
    for i in range(urn.n):
        t = urn.topics[i]
        k = urn.rows[i] * urn.P + t
        product *= (urn.doc_counts[t] + urn.alpha[t]) / (alpha_total + i)
        product *= (urn.counts[k] + <double>urn.prior[k]) / (urn.doc_counts[t] + urn.totals[t])
        product = rescale(product, &result)
        urn.counts[k] += 1
        urn.doc_counts[t] += 1
    for k in range(urn.K):
        set_scale(urn, k)
    return result + log(product)


cdef double independent(Urn* urn, bint keep) noexcept nogil:
    """Draw all topics at c = infinity; with `keep`, do not draw. Return their log probability."""
    cdef:
        int64_t i
        int32_t t
        double result = 0, product = 1, total
    set_priors(urn, NULL, 1, 1)
    for i in range(urn.n):
        total = draw(urn, i, keep)
        t = urn.topics[i]
        product = rescale(product * urn.prior[urn.rows[i] * urn.P + t] * urn.scale[t] / total, &result)
    return result + log(product)


cdef void find_guide(
    Urn* urn, SoftCounts* soft, const double* alpha, int32_t* words, float* prior, int64_t n_iter,
) noexcept nogil:
    """Compute a by CVB0 (Asuncion et al. 2009), phi fixed at its mean. `words` has room for two rows of tokens."""
    cdef:
        int64_t j, k
        int32_t never = 0
        Document doc
    memset(urn.prior, 0, urn.n_rows * urn.P * sizeof(float))
    for k in range(urn.K):
        for j in range(urn.n_rows):
            urn.prior[j * urn.P + k] = <float>(urn.base[j * urn.P + k] / urn.base_totals[k])
    doc.base, doc.rows, doc.n, doc.K, doc.P, doc.prior = urn.prior, urn.rows, urn.n, urn.K, urn.P, alpha
    set_words(soft, &doc, words, words + urn.n_rows, prior)
    find_soft_counts(soft, n_iter, 0, &never)
    for k in range(urn.K):
        urn.guide[k] = soft.expected[k] + alpha[k]


def evidence(
    const int32_t[::1] words,             # IN (N,): ascending within a document
    const int64_t[::1] offsets,           # IN (D + 1,)
    const uint64_t[::1] keys,             # IN (D,): each document's own seed
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    const double[::1] word_prior,         # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,      # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,       # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,  # IN (V, P): m_kv
    const int64_t[::1] topic_totals,      # IN (K,): m_k
    const int32_t[::1] topics,            # IN (N,): z if the counts include the documents; else empty
    const double[::1] strengths,          # IN (R,): c, descending to the last before zero
    int64_t n_guide,                      # IN: CVB0 iterations that compute a
    bint backward,                        # IN: go from the given z to c = infinity, not from there to c = 0
    double[::1] log_weights,              # OUT (D,): log of an unbiased estimate of p(w_d | z, w of the others);
                                          #     if backward, and z_d is drawn from p(z_d | rest), of 1 / p
    int32_t[:, ::1] scratch_int,          # SCRATCH (4, longest document)
    double[:, ::1] scratch_base,          # SCRATCH (most distinct words of a document, P)
    float[:, ::1] scratch_float,          # SCRATCH (2 * most distinct words + 4 + TOGETHER, P)
    int32_t[:, ::1] scratch_counts,       # SCRATCH (most distinct words + 1, P)
    double[:, ::1] scratch_double,        # SCRATCH (5, P)
    uint64_t[::1] stream,                 # SCRATCH (4,)
):
    cdef:
        int64_t d, i, k, r, first, R = strengths.shape[0], P = word_topic_counts.shape[1]
        int64_t most = scratch_base.shape[0]
        bint included = topics.shape[0] > 0, own = topic_prior.shape[0] > 0
        int32_t v
        const double* alpha
        double log_weight
        Urn urn
        SoftCounts soft

    set_scratch(&soft, &scratch_float[most, 0], &scratch_float[2 * most + 2, 0], P, TOGETHER)
    urn.K, urn.P = topic_totals.shape[0], P
    urn.rows, urn.topics = &scratch_int[0, 0], &scratch_int[1, 0]
    urn.base, urn.prior, urn.counts = &scratch_base[0, 0], &scratch_float[0, 0], &scratch_counts[0, 0]
    urn.scale, urn.doc_counts = &scratch_float[2 * most, 0], &scratch_counts[most, 0]
    urn.base_totals, urn.guide, urn.totals = &scratch_double[0, 0], &scratch_double[1, 0], &scratch_double[2, 0]
    urn.alpha, urn.walked, urn.state = &scratch_double[3, 0], &scratch_double[4, 0], &stream[0]
    with nogil:
        memset(urn.scale, 0, P * sizeof(float))
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            first = offsets[d]
            urn.n = offsets[d + 1] - first
            if urn.n == 0:
                continue
            seed_state(keys[d], urn.state)
            alpha = &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0]
            for k in range(urn.K):
                urn.base_totals[k] = topic_totals[k]
            # eta is added after the integers are subtracted, so that rounding does not lose a small eta.
            urn.n_rows = 0
            for i in range(urn.n):
                v = words[first + i]
                if i == 0 or v != words[first + i - 1]:
                    for k in range(P):
                        urn.base[urn.n_rows * P + k] = word_topic_counts[v, k]
                    urn.n_rows += 1
                urn.rows[i] = <int32_t>(urn.n_rows - 1)
                if included:
                    urn.topics[i] = topics[first + i]
                    urn.base[urn.rows[i] * P + urn.topics[i]] -= 1
                    urn.base_totals[urn.topics[i]] -= 1
            for i in range(urn.n):
                if i == 0 or urn.rows[i] != urn.rows[i - 1]:
                    for k in range(urn.K):
                        urn.base[urn.rows[i] * P + k] += (
                            <double>topic_prior[words[first + i], k] if own else word_prior[words[first + i]]
                        )
            for k in range(urn.K):
                urn.base_totals[k] += prior_totals[k]
            find_guide(&urn, &soft, alpha, &scratch_int[2, 0], &scratch_float[2 * most + 1, 0], n_guide)
            if backward:
                set_priors(&urn, alpha, 1, 0)
                log_weight = -log_joint(&urn)
            else:
                log_weight = -independent(&urn, False)
            for i in range(R):
                r = R - 1 - i if backward else i
                set_priors(&urn, alpha, 1 + strengths[r], strengths[r])
                log_weight += log_joint(&urn)
                sweep(&urn)
                log_weight -= log_joint(&urn)
            if backward:
                log_weight += independent(&urn, True)
            else:
                set_priors(&urn, alpha, 1, 0)
                log_weight += log_joint(&urn)
            log_weights[d] = log_weight
