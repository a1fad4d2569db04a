"""CVB0: distributions of the topic for every word of a document, with its count (Asuncion et al. 2009).

The tokens of one word in one document have the same distribution. Its update does not count one of these tokens.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sklda._kernels._barrier cimport load
from sklda._kernels._cvb0 cimport add_scaled, cvb0_document, cvb0_update, cvb0_update_wide
from sklda._kernels._lanes cimport PREFETCH, wider_vectors
from sklda._kernels._soft_counts cimport SoftCounts, find_soft_counts, set_scratch


def update_documents(
    const int32_t[::1] rows,            # IN (E,): the row of word_topic for every word of every document
    const float[::1] repeats,           # IN (E,): their counts
    const int64_t[::1] offsets,         # IN (D + 1,): of the documents in the words, from 0
    const float[::1] alpha,             # IN (P,): zero in the padding
    const float[::1] word_prior,        # IN (W,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,    # IN (W, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,     # IN (K,): sum of eta over words
    const double[::1] topic_totals,     # IN (K,): m_k
    const float[:, ::1] word_topic,     # IN (W, P): m_kv
    float[:, ::1] changes,              # IN/OUT (W, P): the changes of m_kv are added
    double[::1] total_changes,          # IN/OUT (K,): those of m_k are added
    float[:, ::1] own,                  # IN/OUT (E, P): the distributions, zero in the padding
    double[:, ::1] doc_topic,           # OUT (D, K): n_dk
    int64_t n_updates,                  # IN: of a document, one after the other
    bint new,                           # IN: whether the documents are not in the counts yet; they are then added
    float[:, ::1] scratch,              # SCRATCH (5, P)
    const int32_t[::1] stop,            # IN (1,): another thread may set it; if not zero, end
):
    """One CVB0 update of every word of some documents, in order. m_k is brought up to date after every document."""
    cdef:
        int64_t P = own.shape[1], K = topic_totals.shape[0], d, i, j, k, v, _s
        bint wide = wider_vectors()
        float* expected = &scratch[0, 0]
        float* totals = &scratch[1, 0]
        float* least = &scratch[2, 0]
        float* before = &scratch[4, 0]
        float eta
        const float* etas
        cvb0_document document

    with nogil:
        document.expected, document.alpha, document.totals, document.least = expected, &alpha[0], totals, least
        document.weights, document.width = &scratch[3, 0], P
        for k in range(P):
            totals[k] = 1
            least[k] = <float>prior_totals[k] if k < K else 1
        for d in range(offsets.shape[0] - 1):
            memset(expected, 0, P * sizeof(float))
            for i in range(offsets[d], offsets[d + 1]):
                add_scaled(expected, &own[i, 0], repeats[i], P)
            for k in range(K):
                before[k] = 0 if new else expected[k]
                totals[k] = <float>(topic_totals[k] + total_changes[k] + prior_totals[k] + expected[k] - before[k])
            if new:
                for i in range(offsets[d], offsets[d + 1]):
                    add_scaled(&changes[rows[i], 0], &own[i, 0], repeats[i], P)
            for _s in range(n_updates):
                for i in range(offsets[d], offsets[d + 1]):
                    if load(&stop[0]):
                        break
                    if i + 1 < offsets[d + 1]:
                        v = rows[i + 1]
                        for j in range(0, P, 16):
                            PREFETCH(&word_topic[v, j])
                            PREFETCH(&changes[v, j])
                    v = rows[i]
                    etas = &topic_prior[v, 0] if topic_prior.shape[0] else NULL
                    eta = word_prior[v] if word_prior.shape[0] else 0
                    if wide:
                        cvb0_update_wide(
                            &own[i, 0], &word_topic[v, 0], &changes[v, 0], &document, eta, etas, repeats[i]
                        )
                    else:
                        cvb0_update(&own[i, 0], &word_topic[v, 0], &changes[v, 0], &document, eta, etas, repeats[i])
            for k in range(K):
                doc_topic[d, k] = expected[k] if expected[k] > 0 else 0
                total_changes[k] += <double>expected[k] - before[k]


def infer_documents(
    const int32_t[::1] rows,            # IN (E,): the row of word_topic for every word of every document
    const int32_t[::1] repeats,         # IN (E,): their counts
    const int64_t[::1] offsets,         # IN (D + 1,): of the documents in the words, from 0
    const float[::1] alpha,             # IN (P,): zero in the padding
    const float[:, ::1] word_topic,     # IN (W, P): phi by word, each row up to a factor, zero in the padding
    int64_t n_updates,                  # IN: the largest number of updates of a document
    double tolerance,                   # IN: the updates end if the mean change of n_dk over topics is smaller
    float[:, ::1] changes,              # IN/OUT (W, P) or empty: the expected counts m_kv of the documents are added
    double[:, ::1] doc_topic,           # OUT (D, K): n_dk
    float[:, ::1] own,                  # SCRATCH (distinct words of a document at most, P)
    float[:, ::1] scratch,              # SCRATCH (3, P)
    const int32_t[::1] stop,            # IN (1,): another thread may set it; if not zero, end
):
    """Expected topic counts of documents by CVB0 with fixed topics. Words are updated in turn."""
    cdef:
        int64_t P = own.shape[1], K = doc_topic.shape[1], d, i, k
        SoftCounts soft

    set_scratch(&soft, &own[0, 0], &scratch[0, 0], P, 1)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            soft.n = offsets[d + 1] - offsets[d]
            for k in range(K):
                doc_topic[d, k] = 0
            if soft.n == 0:
                continue
            soft.base, soft.prior = &word_topic[0, 0], &alpha[0]
            soft.rows, soft.repeats = &rows[offsets[d]], &repeats[offsets[d]]
            find_soft_counts(&soft, n_updates, tolerance * K, &stop[0])
            for k in range(K):
                doc_topic[d, k] = soft.expected[k]
            if changes.shape[0]:
                for i in range(soft.n):
                    add_scaled(&changes[soft.rows[i], 0], soft.own + i * P, soft.repeats[i], P)


def take_rows(
    const int64_t[::1] words,               # IN (W,)
    const double[:, ::1] word_topic,        # IN (V, P)
    float[:, ::1] rows,                     # OUT (at least W, P): the rows of the words
    float[:, ::1] changes,                  # OUT (at least W, P): zero
):
    cdef int64_t i, k
    with nogil:
        for i in range(words.shape[0]):
            for k in range(word_topic.shape[1]):
                rows[i, k] = <float>word_topic[words[i], k]
                changes[i, k] = 0


def add_rows(
    const int64_t[::1] words,               # IN (W,)
    const float[:, ::1] changes,            # IN (at least W, P)
    double factor,                          # IN
    double[:, ::1] word_topic,              # IN/OUT (V, P): factor times the changes is added to the rows of the words
):
    """Counts that rounding would make negative become zero."""
    cdef:
        int64_t i, k
        double count
    with nogil:
        for i in range(words.shape[0]):
            for k in range(word_topic.shape[1]):
                count = word_topic[words[i], k] + factor * changes[i, k]
                word_topic[words[i], k] = count if count > 0 else 0
