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


cdef inline int64_t run_end(const Document* doc, int64_t i) noexcept nogil:
    """The end of the tokens from i on that have the same word."""
    cdef int64_t end = i + 1
    while end < doc.n and doc.rows[end] == doc.rows[i]:
        end += 1
    return end


cdef inline float lane_sum(const float* row, const float* proportions, int64_t P, int64_t lane) noexcept nogil:
    """One of the sums of `lane_products`, bit for bit."""
    cdef:
        float total = 0
        int64_t j
    for j in range(P // LANES):
        total += row[lane + j * LANES] * proportions[lane + j * LANES]
    return total


cdef inline int32_t draw_in_lane(
    Document* doc, const float* row, const float* weights, int lane, double u,
) noexcept nogil:
    """Draw a topic of a lane with probabilities proportional to row times weights, by the point u in [0, 1)."""
    cdef:
        int64_t j, n_blocks = doc.P // LANES
        double total = 0
    for j in range(n_blocks):
        total += <double>row[lane + j * LANES] * weights[lane + j * LANES]
        doc.walked[j] = total
    return <int32_t>(lane + search(doc.walked, n_blocks, u) * LANES)


cdef inline double draw_run(Document* doc, int64_t first, int64_t end, float* soft) noexcept nogil:
    """Draw the tokens from `first` to `end`, which have the same word, one after the other. Return the sum of the
    weights of the first one, zero if no topic has the word. With `soft`, add its conditional times their number.

    The weights are products of `row` and `proportions`, in which the topic of the present token (`held`) is zero. From
    one token to the next only the sums of lanes whose proportions change are computed again.
    """
    cdef:
        float[16] sums
        lane_table table
        int32_t t, held = -1, new
        int64_t i
        int lane
        bint stale
        double stay, others, u, first_total = 0
        const float* row = doc.base + doc.rows[first] * doc.P
        float* proportions = doc.proportions
    if doc.topics[first] >= 0:
        held = doc.topics[first]
        proportions[held] = 0
    lane_products(row, proportions, doc.P, sums)
    stale = True
    for i in range(first, end):
        t = doc.topics[i]
        if t != held:
            if held >= 0:
                proportions[held] = <float>(doc.counts[held] + doc.prior[held])
                sums[held % LANES] = lane_sum(row, proportions, doc.P, held % LANES)
            if t >= 0:
                proportions[t] = 0
                sums[t % LANES] = lane_sum(row, proportions, doc.P, t % LANES)
            held = t
            stale = True
        if stale:
            tabulate(sums, &table)
            stale = False
        stay = (doc.counts[t] - 1 + doc.prior[t]) * row[t] if t >= 0 else 0
        others = table.total
        if i == first:
            first_total = others + stay
            if soft != NULL and first_total > 0:
                add_products(row, proportions, <float>((end - first) / first_total), doc.P, soft)
                if t >= 0:
                    soft[t] += <float>((end - first) * (stay / first_total))
        u = uniform(doc.state) * (others + stay) - stay
        if u < 0 or others <= 0:
            continue
        lane = choose_lane(&table, sums, &u)
        new = draw_in_lane(doc, row, proportions, lane, u)
        if t >= 0:
            doc.counts[t] -= 1
        doc.topics[i] = new
        doc.counts[new] += 1
        proportions[new] = <float>(doc.counts[new] + doc.prior[new])
        if i + 1 < end:
            sums[new % LANES] = lane_sum(row, proportions, doc.P, new % LANES)
            stale = True
    if held >= 0:
        proportions[held] = <float>(doc.counts[held] + doc.prior[held])
    return first_total


cdef inline double draw(Document* doc, int64_t i, float* soft) noexcept nogil:
    """Draw token i; return the sum of its weights, zero if no topic has the word. With `soft`, add its conditional."""
    return draw_run(doc, i, i + 1, soft)


cdef inline void sweep(Document* doc) noexcept nogil:
    cdef int64_t i = 0, end
    while i < doc.n:
        end = run_end(doc, i)
        draw_run(doc, i, end, NULL)
        i = end


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

    The tokens of one word have the same expectation, so the conditional of the first one stands for all of them.
    `scale` has the factor by which the row of a word was divided; only WEIGHTS uses it and `token`.
    """
    cdef:
        int64_t i = 0, k, end
        double factor
    memset(soft, 0, doc.P * sizeof(float))
    while i < doc.n:
        end = run_end(doc, i)
        if estimate == 2:
            memset(token, 0, doc.P * sizeof(float))
            factor = draw_run(doc, i, end, token) * scale[doc.rows[i]]
            for k in range(doc.K):
                sums[k] += token[k] * factor
        else:
            draw_run(doc, i, end, soft if estimate == 0 else NULL)
        if estimate == 0 and end / FEW > i / FEW:
            move(soft, doc.K, sums)
        i = end
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
