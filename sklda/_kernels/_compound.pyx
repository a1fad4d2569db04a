"""Statistics of a collection's documents for its topic mixture (George, Xia & Michailidis 2019, section 3.1)."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._xoshiro cimport uniform


def draw_tables(
    const int64_t[::1] offsets,            # IN (D + 1,)
    const int32_t[::1] topics,             # IN (N,)
    const int64_t[::1] collections,        # IN (D,): the collection of every document
    const double[:, ::1] prior,            # IN (J, K): a = gamma pi
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    int64_t[:, ::1] tables,                # IN/OUT (J, K): the sum over documents of s_dk is added
    int32_t[::1] scratch_counts,           # SCRATCH (at least K,)
):
    """Draw the auxiliary counts s_dk. Token i of topic k in a document, from 0, adds 1 with probability a / (a + i)."""
    cdef:
        int64_t K = prior.shape[1], d, i, j
        int32_t t, n
        double a
        int32_t* counts = &scratch_counts[0]
        uint64_t* state = &stream[0]
    with nogil:
        for d in range(offsets.shape[0] - 1):
            j = collections[d]
            memset(counts, 0, K * sizeof(int32_t))
            for i in range(offsets[d], offsets[d + 1]):
                t = topics[i]
                n = counts[t]
                counts[t] = n + 1
                a = prior[j, t]
                # The first token always adds 1.
                if n == 0 or uniform(state) * (a + n) < a:
                    tables[j, t] += 1


cdef inline void count_topics(const int32_t* topics, int64_t n, int32_t* counts, int64_t K) noexcept nogil:
    cdef int64_t i
    memset(counts, 0, K * sizeof(int32_t))
    for i in range(n):
        counts[topics[i]] += 1


def largest_counts(
    const int64_t[::1] offsets,            # IN (D + 1,)
    const int32_t[::1] topics,             # IN (N,)
    const int64_t[::1] collections,        # IN (D,)
    int64_t[:, ::1] largest,               # IN/OUT (J, K): at least the largest n_dk of the collection
    int32_t[::1] scratch_counts,           # SCRATCH (at least K,)
):
    cdef int64_t K = largest.shape[1], d, j, k
    with nogil:
        for d in range(offsets.shape[0] - 1):
            j = collections[d]
            count_topics(&topics[0] + offsets[d], offsets[d + 1] - offsets[d], &scratch_counts[0], K)
            for k in range(K):
                largest[j, k] = max(largest[j, k], <int64_t>scratch_counts[k])


def tail_counts(
    const int64_t[::1] offsets,            # IN (D + 1,)
    const int32_t[::1] topics,             # IN (N,)
    const int64_t[::1] collections,        # IN (D,)
    const int64_t[:, ::1] starts,          # IN (J, K): index in tails of the first number of a collection and topic
    int64_t[::1] tails,                    # IN/OUT (sum of largest,): the number of documents with n_dk > i is added
    int32_t[::1] scratch_counts,           # SCRATCH (at least K,)
):
    cdef int64_t K = starts.shape[1], d, i, k
    with nogil:
        for d in range(offsets.shape[0] - 1):
            count_topics(&topics[0] + offsets[d], offsets[d + 1] - offsets[d], &scratch_counts[0], K)
            for k in range(K):
                for i in range(starts[collections[d], k], starts[collections[d], k] + scratch_counts[k]):
                    tails[i] += 1
