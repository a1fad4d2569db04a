"""Draw tokens from their full conditionals word by word, and update all counts (see _word_major.pyx)."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from sklda._kernels._lanes cimport LANES, PREFETCH, choose_lane, lane_table, search, tabulate
from sklda._kernels._lists cimport (
    COUNT, ROW_16, TOPIC, list_find, list_find_512, list_put, list_take, list_weights, list_weights_512,
    list_weights_excess, list_weights_excess_512, row_add, row_count, row_sums_16, row_sums_16_wide, row_sums_32,
    row_sums_32_wide, word_row, word_row_512,
)
from sklda._kernels._xoshiro cimport uniform


cdef enum:
    WIDE_ROW = 256


cdef struct Sparse:
    int64_t K
    int64_t P
    int64_t n_spans
    bint wide                   # whether to use AVX-512
    bint has_lists              # whether any document has a list
    const int32_t* begins       # the counts of document d begin at entry begins[d] * LANES (D,)
    uint32_t* entries           # n_dk: lists and rows
    int32_t* sizes              # lengths of the lists; ROW_16 or ROW_32 for a row (D,)
    float* excess               # strength * excess is added to n_dk, at the places of `entries`; NULL: nothing is
    float strength
    const double* doc_prior     # alpha that all documents share (K,)
    const double* prior_totals  # sum of eta over words (K,)
    double* totals              # m_k (K,)
    double eta                  # of the open word, if topics share it
    const float* own_eta        # of the open word, if each topic has its own (P,); NULL otherwise
    int32_t* counts             # m_kv of the open word, zero in the padding (P,)
    float* word                 # q_k of the open word; zero in the padding (P,)
    float* inverse              # 1 / (m_k + sum of eta), zero in the padding (P,)
    float* alpha                # zero in the padding (P,)
    float* smooth               # alpha_k q_k (P,)
    double* blocks              # its sums over blocks of LANES topics (n_spans * LANES,)
    double* spans               # its sums over spans of LANES blocks (n_spans,)
    double smooth_total
    float* weights              # scratch (longest list, padded)
    double* walked              # scratch (longest list, or P, over LANES)
    uint64_t* state


cdef inline void weigh_topics(Sparse* sparse) noexcept nogil:
    """Compute `inverse` and `alpha`."""
    cdef int64_t k
    for k in range(sparse.P):
        sparse.inverse[k] = sparse.alpha[k] = 0
    for k in range(sparse.K):
        sparse.inverse[k] = <float>(1.0 / (sparse.totals[k] + sparse.prior_totals[k]))
        sparse.alpha[k] = <float>sparse.doc_prior[k]


cdef inline void open_word(Sparse* sparse) noexcept nogil:
    """Compute the weights of a word whose counts and prior are given."""
    cdef int64_t j, k
    if sparse.wide:
        word_row_512(sparse.counts, <float>sparse.eta, sparse.own_eta, sparse.inverse, sparse.alpha, sparse.P,
                     sparse.word, sparse.smooth, sparse.blocks)
    else:
        word_row(sparse.counts, <float>sparse.eta, sparse.own_eta, sparse.inverse, sparse.alpha, sparse.P,
                 sparse.word, sparse.smooth, sparse.blocks)
    sparse.smooth_total = 0
    for j in range(sparse.n_spans):
        sparse.spans[j] = 0
        for k in range(j * LANES, (j + 1) * LANES):
            sparse.spans[j] += sparse.blocks[k]
        sparse.smooth_total += sparse.spans[j]


cdef inline void fetch(Sparse* sparse, int32_t d) noexcept nogil:
    cdef:
        int64_t j, size = sparse.sizes[d], first = sparse.begins[d]
    if size < 0:
        size = sparse.P // 2 if size == ROW_16 else sparse.P
    for j in range(first, first + (size + LANES - 1) // LANES):
        PREFETCH(sparse.entries + j * LANES)
        if sparse.excess != NULL:
            PREFETCH(sparse.excess + j * LANES)


cdef inline double change(Sparse* sparse, int64_t k, float value) noexcept nogil:
    """Set one of the smooth weights and update the sums. Return the difference of the weights."""
    cdef double difference = <double>value - sparse.smooth[k]
    sparse.smooth[k] = value
    sparse.blocks[k // LANES] += difference
    sparse.spans[k // LANES // LANES] += difference
    return difference


cdef inline double eta_of(Sparse* sparse, int64_t k) noexcept nogil:
    return sparse.eta if sparse.own_eta == NULL else sparse.own_eta[k]


cdef inline double stay_weight(Sparse* sparse, int64_t t, double n) noexcept nogil:
    """The weight of the present topic, of which the document has n tokens, this one included."""
    return ((n - 1 + sparse.doc_prior[t]) * (sparse.counts[t] - 1 + eta_of(sparse, t))
            / (sparse.totals[t] - 1 + sparse.prior_totals[t]))


cdef inline int32_t draw_smooth(Sparse* sparse, int32_t t, double u) noexcept nogil:
    """Draw a topic other than t in proportion to `smooth`; u is a point of its sum. t: rounding has lost the topic."""
    cdef:
        float[16] sums
        lane_table table
        int64_t j = 0, k
        float kept = sparse.smooth[t]
        int32_t new = t
    change(sparse, t, 0)
    while j < sparse.n_spans - 1 and u >= sparse.spans[j]:
        u -= sparse.spans[j]
        j += 1
    for k in range(LANES):
        sums[k] = <float>sparse.blocks[j * LANES + k]
    tabulate(sums, &table)
    j = j * LANES + choose_lane(&table, sums, &u)
    tabulate(&sparse.smooth[j * LANES], &table)
    # Rounding errors of the sums can select a block whose weights are all zero.
    if table.total > 0:
        u *= table.total
        new = <int32_t>j * LANES + choose_lane(&table, &sparse.smooth[j * LANES], &u)
    change(sparse, t, kept)
    return new


cdef inline int32_t draw_from_list(Sparse* sparse, int32_t d, int32_t t) noexcept nogil:
    """Draw the topic of a token of document d, which was t, and update the list of the document."""
    cdef:
        float[16] sums
        lane_table table
        int64_t n = sparse.sizes[d], first = <int64_t>sparse.begins[d] * LANES, at, into = 0, j
        uint32_t* entries = sparse.entries + first
        float* excess = NULL
        float* weights = sparse.weights
        double* walked = sparse.walked
        double u, stay, count, running = 0
        int lane
        int32_t new
    if sparse.excess != NULL:
        excess = sparse.excess + first
        if sparse.wide:
            at = list_weights_excess_512(entries, excess, sparse.strength, n, t, sparse.word, weights, sums)
        else:
            at = list_weights_excess(entries, excess, sparse.strength, n, t, sparse.word, weights, sums)
    elif sparse.wide:
        at = list_weights_512(entries, n, t, sparse.word, weights, sums)
    else:
        at = list_weights(entries, n, t, sparse.word, weights, sums)
    tabulate(sums, &table)
    count = <int32_t>COUNT(entries[at])
    if excess != NULL:
        count += <double>sparse.strength * excess[at]
    stay = stay_weight(sparse, t, count)
    u = uniform(sparse.state) * (stay + table.total + (sparse.smooth_total - sparse.smooth[t])) - stay
    if u < 0:
        return t
    # Totals of lanes are in single precision; the chosen lane is summed again in double.
    if u < table.total:
        lane = choose_lane(&table, sums, &u)
        if n > LANES:
            for j in range((n - lane + LANES - 1) // LANES):
                running += weights[lane + j * LANES]
                walked[j] = running
            into = search(walked, j + 1, u)
        into = lane + into * LANES
        new = TOPIC(entries[into])
    else:
        new = draw_smooth(sparse, t, u - table.total)
        if new == t:
            return t
        into = list_find_512(entries, n, new) if sparse.wide else list_find(entries, n, new)
    if excess != NULL:
        list_put(entries, &sparse.sizes[d], into, new)
        entries[at] -= 1 << 16
        if COUNT(entries[at]) == 0 and excess[at] == 0:
            n = sparse.sizes[d] - 1
            entries[at], excess[at] = entries[n], excess[n]
            entries[n], excess[n] = 0, 0
            sparse.sizes[d] = <int32_t>n
    elif into == n and COUNT(entries[at]) == 1:
        entries[at] = 1 << 16 | new
    else:
        list_put(entries, &sparse.sizes[d], into, new)
        list_take(entries, &sparse.sizes[d], at)
    return new


cdef inline int32_t draw_from_row(Sparse* sparse, int32_t d, int32_t t) noexcept nogil:
    """The same for a document whose counts are a row."""
    cdef:
        float[16] sums
        lane_table table
        int64_t n_blocks = sparse.P // LANES, first = <int64_t>sparse.begins[d] * LANES, j, k
        int32_t size = sparse.sizes[d], new
        uint32_t* row = sparse.entries + first
        float* excess = sparse.excess + first if sparse.excess != NULL else NULL
        const float* alpha = sparse.alpha
        float* word = sparse.word
        double* walked = sparse.walked
        double u, stay, count = row_count(row, size, t), total = 0
        int lane
        float kept = word[t]
    # As in _dense: the sums exclude the current topic.
    # In short rows wider vectors are slower: their loads wait for the last store to `word`.
    if sparse.wide and sparse.P >= WIDE_ROW:
        if size == ROW_16:
            row_sums_16_wide(<uint16_t*>row, alpha, word, t, sparse.P, sums)
        else:
            row_sums_32_wide(<int32_t*>row, excess, sparse.strength, alpha, word, t, sparse.P, sums)
    elif size == ROW_16:
        row_sums_16(<uint16_t*>row, alpha, word, t, sparse.P, sums)
    else:
        row_sums_32(<int32_t*>row, excess, sparse.strength, alpha, word, t, sparse.P, sums)
    tabulate(sums, &table)
    if excess != NULL:
        count += <double>sparse.strength * excess[t]
    stay = stay_weight(sparse, t, count)
    u = uniform(sparse.state) * (table.total + stay) - stay
    new = t
    if u >= 0:
        word[t] = 0
        lane = choose_lane(&table, sums, &u)
        if size == ROW_16:
            for j in range(n_blocks):
                k = lane + j * LANES
                total += ((<uint16_t*>row)[k] + <double>alpha[k]) * word[k]
                walked[j] = total
        else:
            for j in range(n_blocks):
                k = lane + j * LANES
                count = (<int32_t*>row)[k] + <double>alpha[k]
                if excess != NULL:
                    count += <double>sparse.strength * excess[k]
                total += count * word[k]
                walked[j] = total
        new = <int32_t>(lane + search(walked, n_blocks, u) * LANES)
        word[t] = kept
    if new != t:
        row_add(row, size, t, -1)
        row_add(row, size, new, 1)
    return new


cdef inline void move(Sparse* sparse, int32_t d, int32_t t, int32_t new) noexcept nogil:
    """Move a token of document d from topic t to another, in the list or row of the document."""
    cdef:
        uint32_t* entries = sparse.entries + <int64_t>sparse.begins[d] * LANES
        int64_t at, into
    if sparse.sizes[d] < 0:
        row_add(entries, sparse.sizes[d], t, -1)
        row_add(entries, sparse.sizes[d], new, 1)
        return
    at, into = list_find(entries, sparse.sizes[d], t), list_find(entries, sparse.sizes[d], new)
    if into == sparse.sizes[d] and COUNT(entries[at]) == 1:
        entries[at] = 1 << 16 | new
    else:
        list_put(entries, &sparse.sizes[d], into, new)
        list_take(entries, &sparse.sizes[d], at)


cdef inline int32_t draw(Sparse* sparse, int32_t d, int32_t t) noexcept nogil:
    """Draw and return the topic of a token of the open word in document d. Its topic was t."""
    cdef int32_t new = draw_from_row(sparse, d, t) if sparse.sizes[d] < 0 else draw_from_list(sparse, d, t)
    if new != t:
        shift(sparse, t, -1)
        shift(sparse, new, 1)
    return new


cdef inline void shift(Sparse* sparse, int32_t k, int step) noexcept nogil:
    """Add `step`, 1 or -1, to the counts of a topic in the open word and in all words."""
    sparse.counts[k] += step
    sparse.totals[k] += step
    sparse.inverse[k] = <float>(1.0 / (sparse.totals[k] + sparse.prior_totals[k]))
    sparse.word[k] = (sparse.counts[k] + <float>eta_of(sparse, k)) * sparse.inverse[k]
    if sparse.has_lists:
        sparse.smooth_total += change(sparse, k, sparse.alpha[k] * sparse.word[k])
