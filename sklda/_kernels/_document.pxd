"""One document with the topics fixed: its assignments, and the draw of one token from its full conditional."""
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._barrier cimport load
from sklda._kernels._lanes cimport LANES, add_products, choose_lane, lane_products, lane_table, search, tabulate
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._xoshiro cimport uniform

# Tokens of which probabilities are added in single precision: sums over many of them would lose the small ones.
cdef enum:
    FEW = 64


cdef struct Document:
    const float* base       # word weights, rows of P floats, zero in the padding
    const int32_t* rows     # which row each of the n tokens has
    int64_t n
    int64_t K
    int64_t P
    const double* prior     # Dirichlet parameter of theta (K,)
    int32_t* topics         # (n,), -1 where a token has none yet
    int32_t* counts         # n_k (P,)
    float* proportions      # n_k + prior_k, zero in the padding (P,)
    double* walked          # scratch (P // LANES,)
    uint64_t* state


cdef inline void open_block(
    Document* doc, const float[:, ::1] base, const double[:, ::1] doc_prior, int32_t[::1] counts,
    float* proportions, double* walked,
) noexcept nogil:
    """Set what all documents of a block share: word weights, number of topics and scratch."""
    doc.base = &base[0, 0]
    doc.K, doc.P = doc_prior.shape[1], base.shape[1]
    doc.counts, doc.proportions, doc.walked = &counts[0], proportions, walked


cdef inline bint open_document(
    Document* doc, int64_t d, const int64_t[::1] offsets, const int32_t[::1] words, const double[:, ::1] doc_prior,
    int32_t* topics, uint64_t* state, const int32_t[::1] stop,
) noexcept nogil:
    """Set the tokens, the prior and the generator of document d. False if it is empty or `stop` is set."""
    doc.n = offsets[d + 1] - offsets[d]
    if doc.n == 0 or load(&stop[0]):
        return False
    doc.rows, doc.topics, doc.state = &words[offsets[d]], topics, state
    doc.prior = &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0]
    return True


cdef inline void count(Document* doc) noexcept nogil:
    """Counts and proportions from the topics and the prior."""
    cdef int64_t i, k
    memset(doc.counts, 0, doc.P * sizeof(int32_t))
    memset(doc.proportions, 0, doc.P * sizeof(float))
    for i in range(doc.n):
        if doc.topics[i] >= 0:
            doc.counts[doc.topics[i]] += 1
    for k in range(doc.K):
        doc.proportions[k] = <float>(doc.counts[k] + doc.prior[k])


cdef inline void clear(Document* doc) noexcept nogil:
    """Set all tokens to no topic."""
    cdef int64_t i
    for i in range(doc.n):
        doc.topics[i] = -1
    count(doc)


cdef inline void take(Document* doc, int64_t i) noexcept nogil:
    """Take token i out of the counts, if it has a topic."""
    cdef int32_t t = doc.topics[i]
    if t < 0:
        return
    doc.counts[t] -= 1
    doc.proportions[t] = <float>(doc.counts[t] + doc.prior[t])


cdef inline void put(Document* doc, int64_t i, int32_t t) noexcept nogil:
    """Give token i, which is in no count, the topic t, -1 for none."""
    doc.topics[i] = t
    if t < 0:
        return
    doc.counts[t] += 1
    doc.proportions[t] = <float>(doc.counts[t] + doc.prior[t])


cdef inline double draw(Document* doc, int64_t i, float* soft) noexcept nogil:
    """Draw token i; return the sum of its weights, zero if no topic has the word. With `soft`, add its conditional."""
    cdef:
        float[16] sums
        lane_table table
        int32_t t = doc.topics[i], new
        int64_t j, n_blocks = doc.P // LANES
        int lane
        double stay = 0, others, total = 0, u
        const float* row = doc.base + doc.rows[i] * doc.P
    if t >= 0:
        stay = (doc.counts[t] - 1 + doc.prior[t]) * row[t]
        doc.proportions[t] = 0
    lane_products(row, doc.proportions, doc.P, sums)
    tabulate(sums, &table)
    others = table.total
    if soft != NULL and others + stay > 0:
        add_products(row, doc.proportions, <float>(1 / (others + stay)), doc.P, soft)
        if t >= 0:
            soft[t] += <float>(stay / (others + stay))
    u = uniform(doc.state) * (others + stay) - stay
    if u < 0 or others <= 0:
        if t >= 0:
            doc.proportions[t] = <float>(doc.counts[t] + doc.prior[t])
        return others + stay
    lane = choose_lane(&table, sums, &u)
    for j in range(n_blocks):
        total += <double>row[lane + j * LANES] * doc.proportions[lane + j * LANES]
        doc.walked[j] = total
    new = <int32_t>(lane + search(doc.walked, n_blocks, u) * LANES)
    if t >= 0:
        take(doc, i)
    put(doc, i, new)
    return others + stay


cdef inline void sweep(Document* doc) noexcept nogil:
    cdef int64_t i
    for i in range(doc.n):
        draw(doc, i, NULL)


cdef inline void move(float* soft, int64_t K, double* sums) noexcept nogil:
    """Add the sums in single precision to those in double, and set them to zero."""
    cdef int64_t k
    for k in range(K):
        sums[k] += soft[k]
        soft[k] = 0


cdef inline void averaged_sweep(
    Document* doc, int estimate, const float* scale, float* token, float* soft, double* sums,
) noexcept nogil:
    """Sweep, and add to `sums` (K,) the draw's estimate of n_k: see the constants of _fold_in.pyx.

    `scale` has the factor by which the row of a word was divided; only WEIGHTS uses it and `token`.
    """
    cdef:
        int64_t i, k
        double factor
    memset(soft, 0, doc.P * sizeof(float))
    for i in range(doc.n):
        if estimate == 2:
            memset(token, 0, doc.P * sizeof(float))
            factor = draw(doc, i, token) * scale[doc.rows[i]]
            for k in range(doc.K):
                sums[k] += token[k] * factor
        else:
            draw(doc, i, soft if estimate == 0 else NULL)
        if estimate == 0 and i % FEW == FEW - 1:
            move(soft, doc.K, sums)
    if estimate == 0:
        move(soft, doc.K, sums)
    elif estimate == 1:
        for k in range(doc.K):
            sums[k] += doc.counts[k]


cdef inline double rescale(double product, double* log_sum) noexcept nogil:
    """Move a product that runs out of range into its logarithm."""
    if product > 1e200 or product < 1e-200:
        log_sum[0] += log(product)
        return 1.0
    return product


cdef inline double log_topics(Document* doc, const double* prior) noexcept nogil:
    """log p(z | prior), theta integrated out."""
    cdef:
        double result = 0, product = 1, total = 0
        int64_t k, j
    for k in range(doc.K):
        total += prior[k]
        for j in range(doc.counts[k]):
            product = rescale(product * (prior[k] + j), &result)
    return result + log(product) - log_gamma_ratio(total, doc.n)


cdef inline double log_words(Document* doc) noexcept nogil:
    """Sum over tokens of the log of the word weight in the token's topic, -inf if one has none."""
    cdef:
        double result = 0, product = 1
        int64_t i
    for i in range(doc.n):
        if doc.topics[i] < 0:
            return -INFINITY
        product = rescale(product * doc.base[doc.rows[i] * doc.P + doc.topics[i]], &result)
    return result + log(product)
