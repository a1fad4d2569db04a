"""Topic proportions of documents when the topics are known: Gibbs sweeps over z with phi fixed."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport LANES, choose_lane, lane_products, lanes_total, walk
from sklda._kernels._xoshiro cimport seed_state, uniform


def fold_in(
    const int32_t[::1] words,            # IN (N,): rows of word_topic
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (1 or D, K): alpha
    int64_t n_sweeps,                    # IN
    int64_t n_burn_in,                   # IN: sweeps that are not averaged
    double[:, ::1] expected_counts,      # OUT (D, K): mean over sweeps of E(n_dk), token by token
    int32_t[::1] scratch_topics,         # SCRATCH (longest document,)
    float[:, ::1] scratch_float,         # SCRATCH (3, P)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
):
    cdef:
        int64_t K = doc_prior.shape[1], P = word_topic.shape[1], n_blocks = P // LANES
        int64_t d, i, j, k, s, n, start
        int32_t t
        int lane
        bint prior_per_doc = doc_prior.shape[0] > 1
        float[16] sums
        double u, total
        float share
        uint64_t[4] state
        const double* alpha
        int32_t* topics = &scratch_topics[0]
        float* weights = &scratch_float[0, 0]
        float* proportions = &scratch_float[1, 0]
        float* soft = &scratch_float[2, 0]
        int32_t* counts = &scratch_counts[0]
        double* walked = &scratch_lane[0]

    with nogil:
        memset(proportions, 0, P * sizeof(float))
        for d in range(offsets.shape[0] - 1):
            alpha = &doc_prior[d if prior_per_doc else 0, 0]
            start = offsets[d]
            n = offsets[d + 1] - start
            seed_state(keys[d], state)
            memset(counts, 0, P * sizeof(int32_t))
            for k in range(K):
                proportions[k] = <float>alpha[k]
                expected_counts[d, k] = 0
            for i in range(n):
                topics[i] = -1
            # In the first sweep a token has no topic yet, and is drawn given those before it.
            for s in range(n_sweeps):
                memset(soft, 0, P * sizeof(float))
                for i in range(n):
                    t = topics[i]
                    if t >= 0:
                        counts[t] -= 1
                        proportions[t] = <float>(counts[t] + alpha[t])
                    lane_products(&word_topic[words[start + i], 0], proportions, P, weights, sums)
                    total = lanes_total(sums)
                    if total > 0:
                        u = uniform(state) * total
                        lane = choose_lane(sums, &u)
                        for j in range(n_blocks):
                            walked[j] = weights[lane + j * LANES]
                        t = <int32_t>(lane + walk(walked, n_blocks, u) * LANES)
                        if s >= n_burn_in:
                            share = <float>(1.0 / total)
                            for k in range(P):
                                soft[k] = soft[k] + weights[k] * share
                        topics[i] = t
                        counts[t] += 1
                        proportions[t] = <float>(counts[t] + alpha[t])
                    else:
                        # No topic has the word: it tells nothing of this document.
                        topics[i] = -1
                if s >= n_burn_in:
                    for k in range(K):
                        expected_counts[d, k] += soft[k]
            for k in range(K):
                expected_counts[d, k] /= n_sweeps - n_burn_in
