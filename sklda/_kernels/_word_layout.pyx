"""The layout of ``_word_major``: tokens sorted by word, the topic counts of documents as lists, and the log joint."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from sklda._kernels._document cimport rescale
from sklda._kernels._lanes cimport LANES
from sklda._kernels._lists cimport COUNT, TOPIC, list_find, list_put
from sklda._kernels._log_gamma cimport log_gamma_ratio


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


def fill(
    const int64_t[::1] offsets,      # IN (D + 1,)
    const int32_t[::1] topics,       # IN (N,): document by document
    const int32_t[::1] begins,       # IN (D,): the list of document d begins at entry begins[d] * LANES
    uint32_t[::1] entries,           # IN/OUT (E,): zeros; then lists
    int32_t[::1] sizes,              # IN/OUT (D,): zeros; then their lengths
):
    """Count the topics of each document in its list."""
    cdef:
        int64_t d, i
        uint32_t* entry_list
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                entry_list = &entries[<int64_t>begins[d] * LANES]
                list_put(entry_list, &sizes[d], list_find(entry_list, sizes[d], topics[i]), topics[i])


def sort(
    const int32_t[::1] begins,       # IN (D,)
    uint32_t[::1] entries,           # IN/OUT (E,): lists, their largest counts first
    const int32_t[::1] sizes,        # IN (D,)
):
    """Sort each list, so that draws do not depend on the order in which it was filled."""
    cdef:
        int64_t d, i, j
        uint32_t entry
        uint32_t* entry_list
    with nogil:
        for d in range(sizes.shape[0]):
            if sizes[d] < 2:
                continue
            entry_list = &entries[<int64_t>begins[d] * LANES]
            for i in range(1, sizes[d]):
                entry = entry_list[i]
                j = i
                while j > 0 and entry_list[j - 1] < entry:
                    entry_list[j] = entry_list[j - 1]
                    j -= 1
                entry_list[j] = entry


def log_topics(
    const int64_t[::1] offsets,      # IN (D + 1,)
    const double[::1] doc_prior,     # IN (K,): alpha
    const int32_t[::1] begins,       # IN (D,)
    const uint32_t[::1] entries,     # IN (E,)
    const int32_t[::1] sizes,        # IN (D,)
):
    """log p(z | alpha)."""
    cdef:
        double prior_total = 0, result = 0, product = 1
        int64_t d, j, k
        uint32_t entry, c
    with nogil:
        for k in range(doc_prior.shape[0]):
            prior_total += doc_prior[k]
        for d in range(sizes.shape[0]):
            for j in range(sizes[d]):
                entry = entries[<int64_t>begins[d] * LANES + j]
                for c in range(COUNT(entry)):
                    product = rescale(product * (doc_prior[TOPIC(entry)] + c), &result)
            result -= log_gamma_ratio(prior_total, offsets[d + 1] - offsets[d])
    return result + log(product)


def log_words(
    const int64_t[::1] word_offsets,     # IN (V + 1,)
    const uint16_t[::1] topics,          # IN (N,): z, word by word
    const double[::1] word_prior,        # IN (V,): eta
    double prior_total,                  # IN: sum of eta over words
    const int64_t[::1] topic_totals,     # IN (K,): m_k
    int32_t[::1] scratch_counts,         # SCRATCH (at least K,)
):
    """log p(w | z, eta)."""
    cdef:
        int64_t K = topic_totals.shape[0], v, i, k
        double result = 0, product = 1
        int32_t* counts = &scratch_counts[0]
    with nogil:
        memset(counts, 0, K * sizeof(int32_t))
        for v in range(word_prior.shape[0]):
            for i in range(word_offsets[v], word_offsets[v + 1]):
                product = rescale(product * (word_prior[v] + counts[topics[i]]), &result)
                counts[topics[i]] += 1
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] = 0
        for k in range(K):
            result -= log_gamma_ratio(prior_total, topic_totals[k])
    return result + log(product)
