"""One sweep of the grouped Gibbs sampler. Given phi, documents are independent."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._gamma cimport gamma_source, gamma_variate, seed_source
from sklda._kernels._lanes cimport LANES, PREFETCH, choose_lane, lane_products, lane_table, search, tabulate
from sklda._kernels._xoshiro cimport mix64, uniform


def sweep(
    const int32_t[::1] words,            # IN (N,): word ids, document by document, repeats of a word adjacent
    const int64_t[::1] offsets,          # IN (D + 1,)
    int64_t first,                       # IN: index in the corpus of the first of these documents
    uint64_t key,                        # IN: seed; the stream of a document depends on it and on the document's index
    const float[:, ::1] word_topic,      # IN (V, P): phi by word, up to one common factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,           # IN (D,): the row of each document; empty if all have the first
    int32_t[::1] topics,                 # IN/OUT (N,): z
    float[::1] scratch_float,            # SCRATCH (P,)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
):
    """Draw theta_d from its Dirichlet given z, then every token from p(z = k) proportional to theta_dk phi_kv."""
    cdef:
        int64_t K = doc_prior.shape[1], P = word_topic.shape[1], N = words.shape[0], n_blocks = P // LANES
        int64_t d, i, j, k, prior_row
        int lane
        double u, total
        float* theta = &scratch_float[0]
        int32_t* counts = &scratch_counts[0]
        double* walked = &scratch_lane[0]
        const float* row = NULL
        const float* ahead
        float[16] sums
        lane_table table
        gamma_source source

    with nogil:
        for k in range(K, P):
            theta[k] = 0
        for d in range(offsets.shape[0] - 1):
            if offsets[d] == offsets[d + 1]:
                continue
            prior_row = row_of[d] if row_of.shape[0] > 0 else 0
            seed_source(mix64(key ^ mix64(<uint64_t>(first + d))), &source)
            for k in range(K):
                counts[k] = 0
            for i in range(offsets[d], offsets[d + 1]):
                counts[topics[i]] += 1
            # Not divided by their sum, which is the same factor for all topics.
            for k in range(K):
                theta[k] = <float>gamma_variate(&source, counts[k] + doc_prior[prior_row, k])
            for i in range(offsets[d], offsets[d + 1]):
                if i == offsets[d] or words[i] != words[i - 1]:
                    row = &word_topic[words[i], 0]
                    if i + 2 < N:
                        ahead = &word_topic[words[i + 2], 0]
                        for j in range(0, P, 16):
                            PREFETCH(ahead + j)
                    lane_products(row, theta, P, sums)
                    tabulate(sums, &table)
                u = uniform(source.state) * table.total
                lane = choose_lane(&table, sums, &u)
                total = 0
                for j in range(n_blocks):
                    total += <double>row[lane + j * LANES] * theta[lane + j * LANES]
                    walked[j] = total
                topics[i] = <int32_t>(lane + search(walked, n_blocks, u) * LANES)
