"""Counts of the pairs of a word and a topic that can occur (see _labeled.pyx)."""
from libc.stdint cimport int32_t, int64_t


def find_places(
    const int32_t[::1] words,             # IN (N,): ascending within a document
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int64_t[::1] open_offsets,      # IN (D + 1,)
    const int32_t[::1] open_topics,       # IN: the open topics of every document, ascending
    const int64_t[::1] pair_offsets,      # IN (V + 1,): the pairs of word v are pairs[pair_offsets[v]:...]
    const int32_t[::1] pairs,             # IN: topics, ascending within a word
    int32_t[::1] places,                  # OUT: positions in `pairs`
):
    """For every distinct word of every document, find the pairs of the word and the open topics of the document."""
    cdef int64_t d, i, j, low, high, middle, at = 0
    cdef int32_t k
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if i > offsets[d] and words[i] == words[i - 1]:
                    continue
                low = pair_offsets[words[i]]
                for j in range(open_offsets[d], open_offsets[d + 1]):
                    k, high = open_topics[j], pair_offsets[words[i] + 1] - 1
                    while low < high:
                        middle = (low + high) // 2
                        if pairs[middle] < k:
                            low = middle + 1
                        else:
                            high = middle
                    places[at] = <int32_t>low
                    at += 1


def count(
    const int32_t[::1] words,             # IN (N,)
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int64_t[::1] open_offsets,      # IN (D + 1,)
    const int32_t[::1] open_topics,       # IN
    const int64_t[::1] place_offsets,     # IN (D + 1,): the places of document d begin at place_offsets[d]
    const int32_t[::1] places,            # IN
    const int32_t[::1] choices,           # IN (N,): which open topic of its document each token has
    int32_t[::1] pair_counts,             # IN/OUT: m_kv is added
    int64_t[::1] totals,                  # IN/OUT (K,): m_k is added
):
    """Count the tokens of every pair of word and topic, and of every topic."""
    cdef int64_t d, i, n, at
    with nogil:
        for d in range(offsets.shape[0] - 1):
            n, at = open_offsets[d + 1] - open_offsets[d], place_offsets[d]
            if n == 0:
                continue
            for i in range(offsets[d], offsets[d + 1]):
                if i > offsets[d] and words[i] != words[i - 1]:
                    at += n
                pair_counts[places[at + choices[i]]] += 1
                totals[open_topics[open_offsets[d] + choices[i]]] += 1
