"""Passes over the tokens without random draws: count topics, change topics, and compute keys of documents."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from sklda._kernels._count_rows cimport change_count
from sklda._kernels._xoshiro cimport mix64


def count_topics(
    const int32_t[::1] words,             # IN (N,)
    const int32_t[::1] topics,            # IN (N,): -1 for a token without a topic
    int32_t[:, ::1] word_topic_counts,    # IN/OUT (V, P): m_kv is added
    int64_t[::1] topic_totals,            # IN/OUT (K,): m_k is added
):
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            if 0 <= topics[i] < topic_totals.shape[0]:
                word_topic_counts[words[i], topics[i]] += 1
                topic_totals[topics[i]] += 1


def count_rows(
    const int32_t[::1] words,             # IN (N,)
    const int32_t[::1] topics,            # IN (N,): -1 for a token without a topic
    uint16_t[:, ::1] rows,                # IN/OUT (V, P): m_kv is added for the words that have their row here
    int32_t[:, ::1] long_rows,            # IN/OUT (L, P): likewise
    const int32_t[::1] place,             # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,            # IN/OUT (K,): m_k is added
):
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            if 0 <= topics[i] < topic_totals.shape[0]:
                change_count(rows, long_rows, place, words[i], topics[i], 1)
                topic_totals[topics[i]] += 1


def move_topics(
    const int32_t[::1] words,             # IN (N,)
    const int32_t[::1] new,               # IN (N,)
    int32_t[::1] topics,                  # IN/OUT (N,): becomes `new`
    uint16_t[:, ::1] rows,                # IN/OUT (V, P): m_kv, as in count_rows; also the following two
    int32_t[:, ::1] long_rows,            # IN/OUT (L, P)
    const int32_t[::1] place,             # IN (V,)
    int64_t[::1] topic_totals,            # IN/OUT (K,): m_k
):
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            if new[i] != topics[i]:
                change_count(rows, long_rows, place, words[i], topics[i], -1)
                change_count(rows, long_rows, place, words[i], new[i], 1)
                topic_totals[topics[i]] -= 1
                topic_totals[new[i]] += 1
                topics[i] = new[i]


ctypedef fused real:
    float
    double


def count_documents(
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int32_t[::1] topics,            # IN (N,)
    real[:, ::1] doc_topic_counts,        # IN/OUT (D, K): n_dk is added
):
    cdef int64_t d, i
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                doc_topic_counts[d, topics[i]] += 1


def document_keys(
    const int32_t[::1] words,             # IN (N,)
    const int64_t[::1] offsets,           # IN (D + 1,)
    uint64_t seed,                        # IN
    uint64_t[::1] keys,                   # OUT (D,): hash of the seed and the document's words in order
):
    cdef:
        int64_t d, i
        uint64_t key
    with nogil:
        for d in range(offsets.shape[0] - 1):
            key = mix64(seed)
            for i in range(offsets[d], offsets[d + 1]):
                key = mix64(key ^ <uint64_t>words[i])
            keys[d] = mix64(key ^ <uint64_t>(offsets[d + 1] - offsets[d]))
