from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from "_lists.h" nogil:
    uint32_t TOPIC(uint32_t entry)
    uint32_t COUNT(uint32_t entry)
    int very_wide_vectors()
    int64_t list_weights(const uint32_t* list, int64_t n, int without, const float* word, float* weights, float* sums)
    int64_t list_weights_512(
        const uint32_t* list, int64_t n, int without, const float* word, float* weights, float* sums)
    void word_row(const int32_t* counts, float prior, const float* inverse, const float* alpha, int64_t width,
                  float* word, float* smooth, double* blocks)
    void word_row_512(const int32_t* counts, float prior, const float* inverse, const float* alpha, int64_t width,
                      float* word, float* smooth, double* blocks)
    int64_t list_find(const uint32_t* list, int64_t n, uint32_t topic)


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
