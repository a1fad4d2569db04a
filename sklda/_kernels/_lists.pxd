from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

cdef extern from "_lists.h" nogil:
    uint32_t TOPIC(uint32_t entry)
    uint32_t COUNT(uint32_t entry)
    int very_wide_vectors()
    int64_t list_weights(
        const uint32_t* list, const float* excess, float strength, int64_t n, int without, const float* word,
        float* weights, float* sums)
    int64_t list_weights_512(
        const uint32_t* list, const float* excess, float strength, int64_t n, int without, const float* word,
        float* weights, float* sums)
    void row_sums(
        const uint16_t* shorts, const int32_t* longs, const float* excess, float strength, const float* alpha,
        float* word, int64_t without, int64_t width, float* sums)
    void row_sums_wide(
        const uint16_t* shorts, const int32_t* longs, const float* excess, float strength, const float* alpha,
        float* word, int64_t without, int64_t width, float* sums)
    void word_row(const int32_t* counts, float prior, const float* own, const float* inverse, const float* alpha,
                  int64_t width, float* word, float* smooth, double* blocks)
    void word_row_512(const int32_t* counts, float prior, const float* own, const float* inverse, const float* alpha,
                      int64_t width, float* word, float* smooth, double* blocks)
    void move_row(const float* bases, double base, const double* slopes, double slope, double position,
                  int64_t n_topics, float* prior, double* totals)
    int64_t list_find(const uint32_t* list, int64_t n, uint32_t topic)
    int64_t list_find_512(const uint32_t* list, int64_t n, uint32_t topic)


# The size of a document whose counts are a row of all topics, in 16 or in 32 bits. Lists have sizes from 0 on.
cdef enum:
    ROW_16 = -1
    ROW_32 = -2


cdef inline int64_t row_count(const uint32_t* row, int32_t size, int64_t k) noexcept nogil:
    """The count of topic k in a row."""
    return (<const uint16_t*>row)[k] if size == ROW_16 else <int64_t>(<const int32_t*>row)[k]


cdef inline void row_add(uint32_t* row, int32_t size, int64_t k, int step) noexcept nogil:
    """Add `step`, 1 or -1, to the count of topic k in a row."""
    if size == ROW_16:
        (<uint16_t*>row)[k] = <uint16_t>((<uint16_t*>row)[k] + step)
    else:
        (<int32_t*>row)[k] += step


cdef inline void list_put(uint32_t* entries, int32_t* size, int64_t at, uint32_t topic) noexcept nogil:
    """Add one token of a topic. `at` is its place in the list, or the length of the list if it is not there."""
    if at == size[0]:
        entries[at] = topic
        size[0] += 1
    entries[at] += 1 << 16


cdef inline void list_take(uint32_t* entries, int32_t* size, int64_t at) noexcept nogil:
    """Remove one token of the topic at place `at`."""
    entries[at] -= 1 << 16
    if COUNT(entries[at]) == 0:
        size[0] -= 1
        entries[at] = entries[size[0]]
        entries[size[0]] = 0
