"""One exact sweep of the collapsed Gibbs sampler, word by word, with the topics of documents as short lists.

The full conditional of a token is that of ``_collapsed``, in two buckets:

    n_dk q_k  over the topics in the document,    alpha_k q_k  over all,    q_k = (m_kv + eta_v) / (m_k + sum_v eta_v).

Tokens of one word share q, one row in cache; nothing of size V x K or D x K is kept.
"""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from sklda._kernels._document cimport rescale
from sklda._kernels._lanes cimport LANES, PREFETCH, choose_lane, lane_table, search, tabulate
from sklda._kernels._lists cimport (
    COUNT, TOPIC, list_find, list_weights, list_weights_512, very_wide_vectors, word_row, word_row_512,
)
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._xoshiro cimport uniform


cdef enum:
    AHEAD = 16


def wide_vectors():
    """Whether this machine has AVX-512 and the package was built with it."""
    return bool(very_wide_vectors())


def arrange(
    const int32_t[::1] words,        # IN (N,): word ids, document by document
    const int64_t[::1] offsets,      # IN (D + 1,)
    const int32_t[::1] topics,       # IN (N,)
    int64_t[::1] word_offsets,       # IN/OUT (V + 1,): zeros; then word v has the tokens [v], ..., [v + 1] - 1
    int32_t[::1] documents,          # OUT (N,): word by word
    uint16_t[::1] word_topics,       # OUT (N,): likewise
    int64_t[::1] topic_totals,       # IN/OUT (K,): m_k is added
):
    """Tokens word by word, in the order of their documents; and the totals of their topics."""
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
    int64_t[::1] cursors,                # IN/OUT (V,): where each word begins; then where it ends
    int32_t[::1] topics,                 # OUT (N,): document by document
):
    """Topics in the order of the documents."""
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            topics[i] = word_topics[cursors[words[i]]]
            cursors[words[i]] += 1


cdef inline void put(uint32_t* entries, int32_t* size, int64_t at, uint32_t topic) noexcept nogil:
    """One token more of a topic, which is at `at` in the list or not in it (`at` is its length then)."""
    if at == size[0]:
        entries[at] = topic
        size[0] += 1
    entries[at] += 1 << 16


cdef inline void take(uint32_t* entries, int32_t* size, int64_t at) noexcept nogil:
    """One token less of the topic at `at`."""
    entries[at] -= 1 << 16
    if COUNT(entries[at]) == 0:
        size[0] -= 1
        entries[at] = entries[size[0]]
        entries[size[0]] = 0


def fill(
    const int64_t[::1] offsets,      # IN (D + 1,)
    const int32_t[::1] topics,       # IN (N,): document by document
    const int32_t[::1] begins,       # IN (D,): the list of document d begins at entry begins[d] * LANES
    uint32_t[::1] entries,           # IN/OUT (E,): zeros; then lists
    int32_t[::1] sizes,              # IN/OUT (D,): zeros; then their lengths
):
    cdef:
        int64_t d, i
        uint32_t* entry_list
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                entry_list = &entries[<int64_t>begins[d] * LANES]
                put(entry_list, &sizes[d], list_find(entry_list, sizes[d], topics[i]), topics[i])


def sort(
    const int32_t[::1] begins,       # IN (D,)
    uint32_t[::1] entries,           # IN/OUT (E,): lists, their largest counts first
    const int32_t[::1] sizes,        # IN (D,)
):
    """The order in which a list was filled leaves no trace."""
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


cdef inline double change(int64_t k, float value, float* smooth, double* blocks, double* spans) noexcept nogil:
    """Set one of the smooth weights; return by how much it changed."""
    cdef double difference = <double>value - smooth[k]
    smooth[k] = value
    blocks[k // LANES] += difference
    spans[k // LANES // LANES] += difference
    return difference


def sweep(
    const int64_t[::1] word_offsets,       # IN (V + 1,)
    const int32_t[::1] documents,          # IN (N,): word by word
    int64_t first,                         # IN: the words first, ..., last - 1 are swept
    int64_t last,                          # IN
    const double[::1] doc_prior,           # IN (K,): alpha
    const double[::1] word_prior,          # IN (V,): eta
    double prior_total,                    # IN: sum of eta over words
    uint16_t[::1] topics,                  # IN/OUT (N,): z, word by word
    const int32_t[::1] begins,             # IN (D,)
    uint32_t[::1] entries,                 # IN/OUT (E,): lists of n_dk
    int32_t[::1] sizes,                    # IN/OUT (D,)
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    bint wide,                             # IN: whether to use AVX-512, which changes no draw; see wide_vectors()
    float[:, ::1] scratch_float,           # SCRATCH (4, P)
    float[::1] scratch_weights,            # SCRATCH (longest list, padded)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[:, ::1] scratch_blocks,         # SCRATCH (S, LANES): S spans of LANES * LANES topics
    double[::1] scratch_walk,              # SCRATCH (longest list // LANES + S,)
):
    cdef:
        int64_t P = scratch_counts.shape[0], K = topic_totals.shape[0], N = documents.shape[0]
        int64_t n_spans = scratch_blocks.shape[0]
        int64_t v, i, j, k, n, at, into
        int32_t t, d, new, lane
        uint32_t* entry_list
        float kept
        float[16] sums
        lane_table table
        double prior, u, stay, others, smooth_total = 0, running
        float* word = &scratch_float[0, 0]
        float* inverse = &scratch_float[1, 0]
        float* alpha = &scratch_float[2, 0]
        # alpha_k q_k, summed over blocks of LANES topics, and over spans of LANES blocks
        float* smooth = &scratch_float[3, 0]
        double* blocks = &scratch_blocks[0, 0]
        double* spans = &scratch_walk[scratch_weights.shape[0] // LANES]
        double* walked = &scratch_walk[0]
        float* weights = &scratch_weights[0]
        int32_t* counts = &scratch_counts[0]
        uint64_t* state = &stream[0]

    with nogil:
        memset(&scratch_float[0, 0], 0, 4 * P * sizeof(float))
        memset(counts, 0, P * sizeof(int32_t))
        memset(blocks, 0, n_spans * LANES * sizeof(double))
        for k in range(K):
            inverse[k] = <float>(1.0 / (topic_totals[k] + prior_total))
            alpha[k] = <float>doc_prior[k]
        for v in range(first, last):
            if word_offsets[v] == word_offsets[v + 1]:
                continue
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] += 1
            prior = word_prior[v]
            if wide:
                word_row_512(counts, <float>prior, inverse, alpha, P, word, smooth, blocks)
            else:
                word_row(counts, <float>prior, inverse, alpha, P, word, smooth, blocks)
            smooth_total = 0
            for j in range(n_spans):
                spans[j] = 0
                for k in range(j * LANES, (j + 1) * LANES):
                    spans[j] += blocks[k]
                smooth_total += spans[j]
            for i in range(word_offsets[v], word_offsets[v + 1]):
                if i + AHEAD < N:
                    d = documents[i + AHEAD]
                    for j in range((sizes[d] + LANES - 1) // LANES):
                        PREFETCH(&entries[(<int64_t>begins[d] + j) * LANES])
                t = topics[i]
                d = documents[i]
                n = sizes[d]
                entry_list = &entries[<int64_t>begins[d] * LANES]
                if wide:
                    at = list_weights_512(entry_list, n, t, word, weights, sums)
                else:
                    at = list_weights(entry_list, n, t, word, weights, sums)
                tabulate(sums, &table)
                stay = ((<int32_t>COUNT(entry_list[at]) - 1 + doc_prior[t]) * (counts[t] - 1 + prior)
                        / (topic_totals[t] - 1 + prior_total))
                others = smooth_total - smooth[t]
                u = uniform(state) * (stay + table.total + others) - stay
                if u < 0:
                    continue
                # Single precision has its say in the totals of lanes only: one that is chosen is summed again.
                if u < table.total:
                    lane = choose_lane(&table, sums, &u)
                    into = 0
                    if n > LANES:
                        running = 0
                        for j in range((n - lane + LANES - 1) // LANES):
                            running += weights[lane + j * LANES]
                            walked[j] = running
                        into = search(walked, j + 1, u)
                    into = lane + into * LANES
                    new = TOPIC(entry_list[into])
                else:
                    u -= table.total
                    kept = smooth[t]
                    change(t, 0, smooth, blocks, spans)
                    j = 0
                    while j < n_spans - 1 and u >= spans[j]:
                        u -= spans[j]
                        j += 1
                    for k in range(LANES):
                        sums[k] = <float>blocks[j * LANES + k]
                    tabulate(sums, &table)
                    j = j * LANES + choose_lane(&table, sums, &u)
                    tabulate(&smooth[j * LANES], &table)
                    new = t
                    if table.total > 0:
                        u *= table.total
                        new = <int32_t>j * LANES + choose_lane(&table, &smooth[j * LANES], &u)
                    change(t, kept, smooth, blocks, spans)
                    # Differences of sums in double precision may leave a trace where nothing is.
                    if new == t:
                        continue
                    into = list_find(entry_list, n, new)
                topics[i] = <uint16_t>new
                if into == n and COUNT(entry_list[at]) == 1:
                    entry_list[at] = 1 << 16 | new
                else:
                    put(entry_list, &sizes[d], into, new)
                    take(entry_list, &sizes[d], at)
                counts[t] -= 1
                counts[new] += 1
                topic_totals[t] -= 1
                topic_totals[new] += 1
                for j in range(2):
                    k = new if j else t
                    inverse[k] = <float>(1.0 / (topic_totals[k] + prior_total))
                    word[k] = (counts[k] + <float>prior) * inverse[k]
                    smooth_total += change(k, alpha[k] * word[k], smooth, blocks, spans)
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] = 0


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
