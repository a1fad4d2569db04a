"""Histograms of n_dk and of m_kv: with symmetric priors, log p(w, z | eta, alpha) depends on z through these only.

Zeros are not counted, because they contribute nothing.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset


def documents(
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int32_t[::1] topics,            # IN (N,)
    int64_t[:, ::1] histogram,            # IN/OUT (1 or K, longest document + 1): [k, n] gains the d with n_dk = n > 0
    int32_t[::1] scratch_counts,          # SCRATCH (at least K,)
):
    cdef:
        int64_t d, i
        int32_t t
        bint by_topic = histogram.shape[0] > 1
        int32_t* counts = &scratch_counts[0]
    with nogil:
        memset(counts, 0, scratch_counts.shape[0] * sizeof(int32_t))
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                counts[topics[i]] += 1
            for i in range(offsets[d], offsets[d + 1]):
                t = topics[i]
                if counts[t] > 0:
                    histogram[t if by_topic else 0, counts[t]] += 1
                    counts[t] = 0


def words(
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv, zero in the padding
    int64_t[::1] histogram,                     # IN/OUT (largest m_kv + 1,): [m] gains the (k, v) with m_kv = m > 0
):
    cdef int64_t v, k
    with nogil:
        for v in range(word_topic_counts.shape[0]):
            for k in range(word_topic_counts.shape[1]):
                if word_topic_counts[v, k] > 0:
                    histogram[word_topic_counts[v, k]] += 1
