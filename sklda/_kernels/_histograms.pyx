"""Histograms of n_dk and of m_kv: with symmetric priors, log p(w, z | eta, alpha) depends on z through these only.

Zeros are not counted, because they contribute nothing.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from sklda._kernels._cell_histogram cimport Histogram, add_count, add_document, open_histogram
from sklda._kernels._lists cimport COUNT, TOPIC, row_count
from sklda._kernels._lanes cimport LANES


ctypedef fused count_t:
    uint16_t
    int32_t


def documents(
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int32_t[::1] topics,            # IN (N,)
    int64_t K,                            # IN
    int64_t[:, ::1] histogram,            # IN/OUT (1 or K, W): [k, n] gains the d with n_dk = n, for 0 < n < W
    int32_t[:, ::1] larger,               # OUT (2, at least N / W): k and n_dk of every n_dk >= W
    int32_t[::1] scratch_counts,          # SCRATCH (at least K,)
):
    """Add the documents to the histogram; return the largest n_dk in it, and how many are larger."""
    cdef:
        int64_t d, i
        int32_t* counts = &scratch_counts[0]
        Histogram h
    with nogil:
        h = open_histogram(histogram, larger)
        memset(counts, 0, scratch_counts.shape[0] * sizeof(int32_t))
        for d in range(offsets.shape[0] - 1):
            if offsets[d] == offsets[d + 1]:
                continue
            for i in range(offsets[d], offsets[d + 1]):
                counts[topics[i]] += 1
            add_document(&h, counts, K, &topics[offsets[d]], offsets[d + 1] - offsets[d])
        clear_zeros(&h, histogram)
    return h.largest, h.n_larger


cdef inline void clear_zeros(Histogram* h, int64_t[:, ::1] histogram) noexcept nogil:
    cdef int64_t k
    for k in range(histogram.shape[0]):
        histogram[k, 0] = 0


def words(
    const count_t[:, ::1] counts,               # IN (V, P): m_kv, zero in the padding
    int64_t[::1] histogram,                     # IN/OUT (largest m_kv + 1,): [m] gains the (k, v) with m_kv = m > 0
):
    cdef int64_t v, k
    with nogil:
        for v in range(counts.shape[0]):
            for k in range(counts.shape[1]):
                if counts[v, k] > 0:
                    histogram[counts[v, k]] += 1


def document_lists(
    const int32_t[::1] begins,            # IN (D,): the counts of document d begin at entry begins[d] * LANES
    const uint32_t[::1] entries,          # IN (E,): lists and rows of counts, as in _word_layout
    const int32_t[::1] sizes,             # IN (D,): lengths of the lists; negative for rows
    int64_t K,                            # IN: length of the rows
    int64_t[:, ::1] histogram,            # IN/OUT (1 or K, W): as in `documents`
    int32_t[:, ::1] larger,               # OUT (2, at least N / W): as in `documents`
):
    """As `documents`, from lists and rows."""
    cdef:
        int64_t d, j
        const uint32_t* entry_list
        Histogram h
    with nogil:
        h = open_histogram(histogram, larger)
        for d in range(sizes.shape[0]):
            if sizes[d] == 0:
                continue
            entry_list = &entries[<int64_t>begins[d] * LANES]
            for j in range(sizes[d] if sizes[d] > 0 else K):
                if sizes[d] > 0:
                    add_count(&h, TOPIC(entry_list[j]), COUNT(entry_list[j]))
                else:
                    add_count(&h, j, row_count(entry_list, sizes[d], j))
        clear_zeros(&h, histogram)
    return h.largest, h.n_larger


def word_lists(
    const int64_t[::1] word_offsets,            # IN (V + 1,)
    const uint16_t[::1] topics,                 # IN (N,): z, word by word
    int64_t[::1] histogram,                     # IN/OUT (most frequent word + 1,): as in `words`
    int32_t[::1] scratch_counts,                # SCRATCH (at least K,)
):
    """As `words`, from the tokens of each word."""
    cdef:
        int64_t v, i
        int32_t* counts = &scratch_counts[0]
    with nogil:
        memset(counts, 0, scratch_counts.shape[0] * sizeof(int32_t))
        for v in range(word_offsets.shape[0] - 1):
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] += 1
            for i in range(word_offsets[v], word_offsets[v + 1]):
                if counts[topics[i]] > 0:
                    histogram[counts[topics[i]]] += 1
                    counts[topics[i]] = 0
