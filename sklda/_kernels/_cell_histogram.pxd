"""Histograms of the topic counts of documents, as passes over the documents find them."""
from libc.stdint cimport int32_t, int64_t


cdef struct Histogram:
    int64_t* numbers      # [k, n] is how often topic k has the count n, for 0 < n < width; [k, 0] is not used
    int64_t topic_step    # width, or 0 if the topics share a row
    int64_t width
    int32_t* topics       # of the counts from width on
    int32_t* counts       # these counts
    int64_t room          # most of them
    int64_t n_larger      # their number
    int64_t largest       # the largest count in `numbers`


cdef inline Histogram open_histogram(int64_t[:, ::1] numbers, int32_t[:, ::1] larger) noexcept nogil:
    cdef Histogram h
    h.numbers, h.width, h.room = &numbers[0, 0], numbers.shape[1], larger.shape[1]
    h.topic_step = h.width if numbers.shape[0] > 1 else 0
    h.topics = &larger[0, 0] if h.room > 0 else NULL
    h.counts = &larger[1, 0] if h.room > 0 else NULL
    h.n_larger = h.largest = 0
    return h


cdef inline void add_count(Histogram* h, int64_t k, int64_t n) noexcept nogil:
    """Add a count, which is not negative."""
    if n < h.width:
        h.numbers[k * h.topic_step + n] += 1
        h.largest = max(h.largest, n)
    elif h.n_larger < h.room:
        h.topics[h.n_larger], h.counts[h.n_larger] = <int32_t>k, <int32_t>n
        h.n_larger += 1


cdef inline void add_document(
    Histogram* h, int32_t* counts, int64_t K, const int32_t* topics, int64_t n,
) noexcept nogil:
    """Add the counts of a document of n tokens. The counts become zero."""
    cdef int64_t i, k
    if K <= n:
        for k in range(K):
            add_count(h, k, counts[k])
            counts[k] = 0
        return
    for i in range(n):
        k = topics[i]
        if counts[k] > 0:
            add_count(h, k, counts[k])
            counts[k] = 0
