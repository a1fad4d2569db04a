"""One exact sweep of the collapsed Gibbs sampler: dense weights, document by document.

The full conditional of a token of word v in document d (George & Doss 2018, and everyone since Griffiths & Steyvers):

    p(z = k | rest)  ∝  (n_dk + alpha_dk) (m_kv + eta_kv) / (m_k + sum_v eta_kv),      counts without the token itself.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport (
    LANES, PREFETCH, choose_lane, lane_sums_own, lane_sums_shared, lane_sums_wide, lane_table, search, tabulate,
    wider_vectors,
)
from sklda._kernels._xoshiro cimport uniform


def wide_vectors():
    """Whether this machine has AVX2 and the package was built with it."""
    return bool(wider_vectors())


def sweep(
    const int32_t[::1] words,              # IN (N,): word ids, document by document
    const int64_t[::1] offsets,            # IN (D + 1,): document d is words[offsets[d]:offsets[d + 1]]
    int64_t first,                         # IN: the documents first, ..., last - 1 are swept
    int64_t last,                          # IN
    const double[:, ::1] doc_prior,        # IN (1 or D, K): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    int32_t[::1] topics,                   # IN/OUT (N,): z
    int32_t[:, ::1] word_topic_counts,     # IN/OUT (V, P): m_kv, zero in the padding
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    bint wide,                             # IN: whether to use AVX2, which changes no draw; see wide_vectors()
    float[:, ::1] scratch_float,           # SCRATCH (2, P)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[::1] scratch_lane,              # SCRATCH (P // LANES,)
):
    cdef:
        int64_t K = topic_totals.shape[0], P = word_topic_counts.shape[1], N = words.shape[0]
        int64_t n_blocks = P // LANES
        int64_t d, i, j, k, new
        int32_t t
        int lane
        bint own = topic_prior.shape[0] > 0
        bint prior_per_doc = doc_prior.shape[0] > 1
        float[16] sums
        lane_table table
        double u, stay, total, eta = 0
        float kept
        int32_t* row
        const int32_t* ahead
        const float* prior_row = NULL
        const double* alpha
        # scale[k] = (n_dk + alpha_k) / (m_k + sum eta): what a weight is but for the word's own factor
        float* scale = &scratch_float[0, 0]
        float* inverse = &scratch_float[1, 0]
        int32_t* counts = &scratch_counts[0]
        double* walked = &scratch_lane[0]
        uint64_t* state = &stream[0]

    with nogil:
        memset(scale, 0, P * sizeof(float))
        for k in range(K):
            inverse[k] = <float>(1.0 / (topic_totals[k] + prior_totals[k]))
        for d in range(first, last):
            alpha = &doc_prior[d if prior_per_doc else 0, 0]
            memset(counts, 0, P * sizeof(int32_t))
            for i in range(offsets[d], offsets[d + 1]):
                counts[topics[i]] += 1
            for k in range(K):
                scale[k] = (<float>counts[k] + <float>alpha[k]) * inverse[k]
            for i in range(offsets[d], offsets[d + 1]):
                t = topics[i]
                row = &word_topic_counts[words[i], 0]
                if i + 2 < N:
                    ahead = &word_topic_counts[words[i + 2], 0]
                    for j in range(0, P, 16):
                        PREFETCH(ahead + j)
                # The current topic leaves the lanes, so that no large weight is added and taken off again.
                kept = scale[t]
                scale[t] = 0
                if own:
                    prior_row = &topic_prior[words[i], 0]
                    eta = prior_row[t]
                    lane_sums_own(row, prior_row, scale, P, sums)
                else:
                    eta = word_prior[words[i]]
                    if wide:
                        lane_sums_wide(row, <float>eta, scale, P, sums)
                    else:
                        lane_sums_shared(row, <float>eta, scale, P, sums)
                stay = ((counts[t] - 1 + alpha[t]) * (row[t] - 1 + eta)
                        / (topic_totals[t] - 1 + prior_totals[t]))
                tabulate(sums, &table)
                u = uniform(state) * (table.total + stay) - stay
                if u < 0:
                    scale[t] = kept
                    continue
                lane = choose_lane(&table, sums, &u)
                total = 0
                for j in range(n_blocks):
                    k = lane + j * LANES
                    total += (<double>row[k] + (prior_row[k] if own else eta)) * scale[k]
                    walked[j] = total
                new = lane + search(walked, n_blocks, u) * LANES
                topics[i] = <int32_t>new
                row[t] -= 1
                row[new] += 1
                counts[t] -= 1
                counts[new] += 1
                topic_totals[t] -= 1
                topic_totals[new] += 1
                inverse[t] = <float>(1.0 / (topic_totals[t] + prior_totals[t]))
                inverse[new] = <float>(1.0 / (topic_totals[new] + prior_totals[new]))
                scale[t] = (<float>counts[t] + <float>alpha[t]) * inverse[t]
                scale[new] = (<float>counts[new] + <float>alpha[new]) * inverse[new]
