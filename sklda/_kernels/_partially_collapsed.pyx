"""One sweep over documents given phi, with theta integrated out. Documents are independent.

    p(z = k | rest)  ∝  (n_dk + alpha_k) phi_kv,      where the counts exclude the token itself.

The sparse kernel adds two terms: n_dk phi_kv over the topics in the document, and alpha_k phi_kv over all topics. The
sum of the second is the same for all tokens of a word, as long as phi does not change.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._document cimport Document, count, open_block
from sklda._kernels._document cimport sweep as sweep_document
from sklda._kernels._lanes cimport LANES, PREFETCH
from sklda._kernels._running_sums cimport STRIDE, reached, running_sums
from sklda._kernels._xoshiro cimport mix64, seed_state, uniform


def dense(
    const int32_t[::1] words,            # IN (N,): word ids, document by document
    const int64_t[::1] offsets,          # IN (D + 1,)
    int64_t first,                       # IN: index in the corpus of the first of these documents
    uint64_t key,                        # IN: seed; the stream of a document depends on it and on the document's index
    const float[:, ::1] word_topic,      # IN (V, P): phi by word, up to one common factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,           # IN (D,): the row of each document; empty if all have the first
    int32_t[::1] topics,                 # IN/OUT (N,): z
    float[::1] scratch_float,            # SCRATCH (P,)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
):
    cdef:
        int64_t d
        uint64_t[4] state
        Document doc

    if words.shape[0] == 0:
        return
    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0], &scratch_lane[0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if offsets[d + 1] == offsets[d]:
                continue
            doc.n, doc.state = offsets[d + 1] - offsets[d], state
            doc.prior = &doc_prior[row_of[d] if row_of.shape[0] > 0 else 0, 0]
            doc.rows, doc.topics = &words[offsets[d]], &topics[offsets[d]]
            seed_state(mix64(key ^ mix64(<uint64_t>(first + d))), state)
            count(&doc)
            sweep_document(&doc)


def sparse(
    const int32_t[::1] words,            # IN (N,): word ids, document by document
    const int64_t[::1] offsets,          # IN (D + 1,)
    int64_t first,                       # IN: index in the corpus of the first of these documents
    uint64_t key,                        # IN: seed; the stream of a document depends on it and on the document's index
    const float[:, ::1] word_topic,      # IN (V, P): phi by word, up to one common factor, zero in the padding
    const double[::1] doc_prior,         # IN (K,): alpha of all documents
    const double[:, ::1] prior_sums,     # IN (V, S): sum of alpha_k phi_kv up to every STRIDE-th topic
    int32_t[::1] topics,                 # IN/OUT (N,): z
    int32_t[::1] listed,                 # IN/OUT (P,): the document's topics; before, any topics, such as zeros
    int32_t[::1] places,                 # IN/OUT (K,): index of a topic in `listed`; -1 before and after
    double[::1] counts,                  # IN/OUT (P,): n_dk of the listed topics, then zeros; zeros before and after
    double[::1] walked,                  # SCRATCH (P,)
):
    cdef:
        int64_t P = word_topic.shape[1], S = prior_sums.shape[1], n_blocks = P // LANES, d, i, j, k, n
        int32_t t, new
        double u, total
        const float* row
        const float* ahead
        const double* sums
        int32_t* topic = &listed[0]
        int32_t* place = &places[0]
        double* number = &counts[0]
        double* running = &walked[0]
        uint64_t[4] state

    with nogil:
        for d in range(offsets.shape[0] - 1):
            seed_state(mix64(key ^ mix64(<uint64_t>(first + d))), state)
            n = 0
            for i in range(offsets[d], offsets[d + 1]):
                t = topics[i]
                if place[t] < 0:
                    place[t], topic[n] = <int32_t>n, t
                    n += 1
                number[place[t]] += 1
            for i in range(offsets[d], offsets[d + 1]):
                row = &word_topic[words[i], 0]
                if i + 1 < offsets[d + 1]:
                    ahead = &word_topic[words[i + 1], 0]
                    if n < n_blocks:
                        for j in range(n):
                            PREFETCH(ahead + topic[j])
                    else:
                        for j in range(0, P, 16):
                            PREFETCH(ahead + j)
                t = topics[i]
                number[place[t]] -= 1
                total = running_sums(number, topic, row, n, running)
                sums = &prior_sums[words[i], 0]
                u = uniform(state) * (total + sums[S - 1])
                if u < total:
                    new = topic[reached(running, n, u)]
                else:
                    u -= total
                    j = 0
                    for k in range(S - 1):
                        j += u >= sums[k]
                    # These are the additions of scale_words, in the same order.
                    total = sums[j - 1] if j > 0 else 0
                    new = -1
                    for k in range(j * STRIDE, min(j * STRIDE + STRIDE, doc_prior.shape[0])):
                        if row[k] > 0:
                            new = <int32_t>k
                        total += doc_prior[k] * row[k]
                        if u < total:
                            break
                    if new < 0:
                        new = t
                topics[i] = new
                if place[new] < 0:
                    place[new], topic[n] = <int32_t>n, new
                    n += 1
                number[place[new]] += 1
                j = place[t]
                if number[j] == 0:
                    n -= 1
                    topic[j], number[j], number[n] = topic[n], number[n], 0
                    place[topic[j]] = <int32_t>j
                    place[t] = -1
            for j in range(n):
                place[topic[j]], number[j] = -1, 0
