"""The layout of ``_word_major``: tokens sorted by word, and the topic counts of documents as lists."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from sklda._kernels._lanes cimport LANES
from sklda._kernels._lists cimport list_find, list_put, row_add


def arrange(
    const int32_t[::1] words,        # IN (N,): word ids, document by document
    const int64_t[::1] offsets,      # IN (D + 1,)
    const int32_t[::1] topics,       # IN (N,)
    int64_t[::1] word_offsets,       # IN/OUT (V + 1,): zeros; then word v has tokens [v] to [v + 1] - 1
    int32_t[::1] documents,          # OUT (N,): word by word
    uint16_t[::1] word_topics,       # OUT (N,): likewise
    int64_t[::1] topic_totals,       # IN/OUT (K,): m_k is added
):
    """Sort the tokens by word; tokens of one word keep the order of their documents. Also count the topics."""
    cdef int64_t V = word_offsets.shape[0] - 1, d, i, at, v
    with nogil:
        for i in range(words.shape[0]):
            if words[i] + 2 <= V:
                word_offsets[words[i] + 2] += 1
        for v in range(2, V + 1):
            word_offsets[v] += word_offsets[v - 1]
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                at = word_offsets[words[i] + 1]
                documents[at] = <int32_t>d
                word_topics[at] = <uint16_t>topics[i]
                topic_totals[topics[i]] += 1
                word_offsets[words[i] + 1] = at + 1


def restore(
    const int32_t[::1] words,            # IN (N,)
    const uint16_t[::1] word_topics,     # IN (N,): word by word
    int64_t[::1] cursors,                # IN/OUT (V,): first token of each word; then the end
    int32_t[::1] topics,                 # OUT (N,): document by document
):
    """The topics in the order of the documents."""
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            topics[i] = word_topics[cursors[words[i]]]
            cursors[words[i]] += 1


def fill_excess(
    const double[:, ::1] added,      # IN (R, K): distinct rows of e_dk, not negative
    const int32_t[::1] row_of,       # IN (D,): the row of each document
    const int32_t[::1] begins,       # IN (D,)
    uint32_t[::1] entries,           # IN/OUT (E,): zeros; then the topics with e_dk > 0, with counts of zero
    float[::1] excess,               # IN/OUT (E,): zeros; then e_dk
    int32_t[::1] sizes,              # IN/OUT (D,): zeros where documents have lists; then their lengths
):
    """Begin each list with the topics for which the prior of the document is not the shared one."""
    cdef int64_t d, k, at, row
    with nogil:
        for d in range(row_of.shape[0]):
            at, row = <int64_t>begins[d] * LANES, row_of[d]
            for k in range(added.shape[1]):
                if sizes[d] < 0:
                    excess[at + k] = <float>added[row, k]
                elif added[row, k] > 0:
                    entries[at + sizes[d]] = <uint32_t>k
                    excess[at + sizes[d]] = <float>added[row, k]
                    sizes[d] += 1


def fill(
    const int64_t[::1] offsets,      # IN (D + 1,)
    const int32_t[::1] topics,       # IN (N,): document by document
    const int32_t[::1] begins,       # IN (D,): the counts of document d begin at entry begins[d] * LANES
    uint32_t[::1] entries,           # IN/OUT (E,): zeros or `fill_excess`; then lists and rows
    int32_t[::1] sizes,              # IN/OUT (D,): zeros or `fill_excess`, a row's size for rows; then lengths of lists
):
    """Count the topics of each document in its list or row."""
    cdef:
        int64_t d, i
        uint32_t* entry_list
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                entry_list = &entries[<int64_t>begins[d] * LANES]
                if sizes[d] < 0:
                    row_add(entry_list, sizes[d], topics[i], 1)
                else:
                    list_put(entry_list, &sizes[d], list_find(entry_list, sizes[d], topics[i]), topics[i])


def sort(
    const int32_t[::1] begins,       # IN (D,)
    uint32_t[::1] entries,           # IN/OUT (E,): lists, their largest counts first
    float[::1] excess,               # IN/OUT (E,) or empty: moves with the entries
    const int32_t[::1] sizes,        # IN (D,)
):
    """Sort each list, so that draws do not depend on the order in which it was filled."""
    cdef:
        int64_t d, i, j
        uint32_t entry
        float kept = 0
        uint32_t* entry_list
        float* excess_list = NULL
    with nogil:
        for d in range(sizes.shape[0]):
            if sizes[d] < 2:
                continue
            entry_list = &entries[<int64_t>begins[d] * LANES]
            if excess.shape[0] > 0:
                excess_list = &excess[<int64_t>begins[d] * LANES]
            for i in range(1, sizes[d]):
                entry = entry_list[i]
                if excess_list != NULL:
                    kept = excess_list[i]
                j = i
                while j > 0 and entry_list[j - 1] < entry:
                    entry_list[j] = entry_list[j - 1]
                    if excess_list != NULL:
                        excess_list[j] = excess_list[j - 1]
                    j -= 1
                entry_list[j] = entry
                if excess_list != NULL:
                    excess_list[j] = kept
