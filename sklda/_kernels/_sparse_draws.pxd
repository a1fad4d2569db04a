"""Draw tokens from their full conditionals word by word, and update all counts (see _word_major.pyx)."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from sklda._kernels._lanes cimport LANES, choose_lane, lane_table, search, tabulate
from sklda._kernels._lists cimport (
    COUNT, ROW_16, TOPIC, list_find, list_find_512, list_put, list_take, list_weights, list_weights_512, row_add,
    row_count, row_sums, row_sums_wide,
)
from sklda._kernels._sparse cimport Sparse, change, shift, stay_weight
from sklda._kernels._xoshiro cimport uniform

# Width of a row from which on AVX2 is used.
cdef enum:
    WIDE_ROW = 256


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
        at = list_weights_512(entries, excess, sparse.strength, n, t, sparse.word, weights, sums)
    else:
        at = list_weights(entries, excess, sparse.strength, n, t, sparse.word, weights, sums)
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
        const uint16_t* shorts = <uint16_t*>row if size == ROW_16 else NULL
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
        row_sums_wide(shorts, <int32_t*>row, excess, sparse.strength, alpha, word, t, sparse.P, sums)
    else:
        row_sums(shorts, <int32_t*>row, excess, sparse.strength, alpha, word, t, sparse.P, sums)
    tabulate(sums, &table)
    if excess != NULL:
        count += <double>sparse.strength * excess[t]
    stay = stay_weight(sparse, t, count)
    u = uniform(sparse.state) * (table.total + stay) - stay
    new = t
    if u >= 0:
        word[t] = 0
        lane = choose_lane(&table, sums, &u)
        for j in range(n_blocks):
            k = lane + j * LANES
            count = row_count(row, size, k) + <double>alpha[k]
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
