"""One exact sweep of the collapsed Gibbs sampler, word by word. The topic counts of a document are a short list.

The full conditional of a token is that of ``_collapsed``, as a sum of two terms:

    n_dk q_k  over the topics in the document,    alpha_k q_k  over all,    q_k = (m_kv + eta_v) / (m_k + sum_v eta_v).

Tokens of one word share the row q, which stays in the cache. No array of size V x K or D x K is kept.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport LANES, PREFETCH, choose_lane, lane_table, search, tabulate
from sklda._kernels._lists cimport (
    COUNT, TOPIC, list_find, list_put, list_take, list_weights, list_weights_512, very_wide_vectors, word_row,
    word_row_512,
)
from sklda._kernels._xoshiro cimport uniform


# Number of tokens between a prefetch and the draw that needs it.
cdef enum:
    AHEAD = 16


def wide_vectors():
    """Whether this machine has AVX-512 and the package was built with it."""
    return bool(very_wide_vectors())


cdef inline double change(int64_t k, float value, float* smooth, double* blocks, double* spans) noexcept nogil:
    """Set one of the smooth weights and update the sums. Return the difference of the weights."""
    cdef double difference = <double>value - smooth[k]
    smooth[k] = value
    blocks[k // LANES] += difference
    spans[k // LANES // LANES] += difference
    return difference


def sweep(
    const int64_t[::1] word_offsets,       # IN (V + 1,)
    const int32_t[::1] documents,          # IN (N,): word by word
    int64_t first,                         # IN: the words first, ..., last - 1 are swept
    int64_t last,                          # IN
    const double[::1] doc_prior,           # IN (K,): alpha
    const double[::1] word_prior,          # IN (V,): eta
    double prior_total,                    # IN: sum of eta over words
    uint16_t[::1] topics,                  # IN/OUT (N,): z, word by word
    const int32_t[::1] begins,             # IN (D,)
    uint32_t[::1] entries,                 # IN/OUT (E,): lists of n_dk
    int32_t[::1] sizes,                    # IN/OUT (D,)
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    bint wide,                             # IN: use AVX-512, see wide_vectors(); the draws are the same
    float[:, ::1] scratch_float,           # SCRATCH (4, P)
    float[::1] scratch_weights,            # SCRATCH (longest list, padded)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[:, ::1] scratch_blocks,         # SCRATCH (S, LANES): S spans of LANES * LANES topics
    double[::1] scratch_walk,              # SCRATCH (longest list // LANES + S,)
):
    cdef:
        int64_t P = scratch_counts.shape[0], K = topic_totals.shape[0], N = documents.shape[0]
        int64_t n_spans = scratch_blocks.shape[0]
        int64_t v, i, j, k, n, at, into
        int32_t t, d, new, lane
        uint32_t* entry_list
        float kept
        float[16] sums
        lane_table table
        double prior, u, stay, others, smooth_total = 0, running
        float* word = &scratch_float[0, 0]
        float* inverse = &scratch_float[1, 0]
        float* alpha = &scratch_float[2, 0]
        # alpha_k q_k, summed over blocks of LANES topics, and over spans of LANES blocks
        float* smooth = &scratch_float[3, 0]
        double* blocks = &scratch_blocks[0, 0]
        double* spans = &scratch_walk[scratch_weights.shape[0] // LANES]
        double* walked = &scratch_walk[0]
        float* weights = &scratch_weights[0]
        int32_t* counts = &scratch_counts[0]
        uint64_t* state = &stream[0]

    with nogil:
        memset(&scratch_float[0, 0], 0, 4 * P * sizeof(float))
        memset(counts, 0, P * sizeof(int32_t))
        memset(blocks, 0, n_spans * LANES * sizeof(double))
        for k in range(K):
            inverse[k] = <float>(1.0 / (topic_totals[k] + prior_total))
            alpha[k] = <float>doc_prior[k]
        for v in range(first, last):
            if word_offsets[v] == word_offsets[v + 1]:
                continue
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] += 1
            prior = word_prior[v]
            if wide:
                word_row_512(counts, <float>prior, inverse, alpha, P, word, smooth, blocks)
            else:
                word_row(counts, <float>prior, inverse, alpha, P, word, smooth, blocks)
            smooth_total = 0
            for j in range(n_spans):
                spans[j] = 0
                for k in range(j * LANES, (j + 1) * LANES):
                    spans[j] += blocks[k]
                smooth_total += spans[j]
            for i in range(word_offsets[v], word_offsets[v + 1]):
                if i + AHEAD < N:
                    d = documents[i + AHEAD]
                    for j in range((sizes[d] + LANES - 1) // LANES):
                        PREFETCH(&entries[(<int64_t>begins[d] + j) * LANES])
                t = topics[i]
                d = documents[i]
                n = sizes[d]
                entry_list = &entries[<int64_t>begins[d] * LANES]
                if wide:
                    at = list_weights_512(entry_list, n, t, word, weights, sums)
                else:
                    at = list_weights(entry_list, n, t, word, weights, sums)
                tabulate(sums, &table)
                stay = ((<int32_t>COUNT(entry_list[at]) - 1 + doc_prior[t]) * (counts[t] - 1 + prior)
                        / (topic_totals[t] - 1 + prior_total))
                others = smooth_total - smooth[t]
                u = uniform(state) * (stay + table.total + others) - stay
                if u < 0:
                    continue
                # Totals of lanes are in single precision; the chosen lane is summed again in double.
                if u < table.total:
                    lane = choose_lane(&table, sums, &u)
                    into = 0
                    if n > LANES:
                        running = 0
                        for j in range((n - lane + LANES - 1) // LANES):
                            running += weights[lane + j * LANES]
                            walked[j] = running
                        into = search(walked, j + 1, u)
                    into = lane + into * LANES
                    new = TOPIC(entry_list[into])
                else:
                    u -= table.total
                    kept = smooth[t]
                    change(t, 0, smooth, blocks, spans)
                    j = 0
                    while j < n_spans - 1 and u >= spans[j]:
                        u -= spans[j]
                        j += 1
                    for k in range(LANES):
                        sums[k] = <float>blocks[j * LANES + k]
                    tabulate(sums, &table)
                    j = j * LANES + choose_lane(&table, sums, &u)
                    tabulate(&smooth[j * LANES], &table)
                    new = t
                    if table.total > 0:
                        u *= table.total
                        new = <int32_t>j * LANES + choose_lane(&table, &smooth[j * LANES], &u)
                    change(t, kept, smooth, blocks, spans)
                    # Rounding errors of the sums can select a block whose weights are all zero.
                    if new == t:
                        continue
                    into = list_find(entry_list, n, new)
                topics[i] = <uint16_t>new
                if into == n and COUNT(entry_list[at]) == 1:
                    entry_list[at] = 1 << 16 | new
                else:
                    list_put(entry_list, &sizes[d], into, new)
                    list_take(entry_list, &sizes[d], at)
                counts[t] -= 1
                counts[new] += 1
                topic_totals[t] -= 1
                topic_totals[new] += 1
                for j in range(2):
                    k = new if j else t
                    inverse[k] = <float>(1.0 / (topic_totals[k] + prior_total))
                    word[k] = (counts[k] + <float>prior) * inverse[k]
                    smooth_total += change(k, alpha[k] * word[k], smooth, blocks, spans)
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] = 0
