"""CGS_p: expected counts from the full conditionals, one pass over the tokens, once per distinct word of a document.

A call does this for the tokens of a block of words, so that the counts of the other words need no memory.

Tokens of one word in one document have the same full conditional, except that each token is removed from the count of
its own topic. With weights w_k from all the counts, and w'_t from the counts without one token of topic t,
p_k = w_k / (W - w_t + w'_t) for k != t.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport PREFETCH, wider_vectors

cdef extern from "_point_estimates.h" nogil:
    void set_document(const int32_t* counts, const double* alpha, int64_t n, double* document)
    void add_to_float(const double* source, int64_t n, float* target)
    void add_to_double(const double* source, int64_t n, double* target)
    double sum_weights(const double* document, const float* word, int64_t n)
    double sum_weights_wide(const double* document, const float* word, int64_t n)
    void add_weights(const double* document, const float* word, double share, int64_t n, double* a, double* b)
    void add_weights_wide(const double* document, const float* word, double share, int64_t n, double* a, double* b)


ctypedef fused real:
    float
    double


def weigh_words(
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,             # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv
    const int64_t[::1] topic_totals,            # IN (K,): m_k
    double[::1] scratch_inverse,                # SCRATCH (K,)
    float[:, ::1] weights,                      # OUT (V, K): (m_kv + eta_kv) / (m_k + sum of eta)
):
    """The factors of the full conditionals that belong to the words."""
    cdef int64_t K = topic_totals.shape[0], v, k
    with nogil:
        for k in range(K):
            scratch_inverse[k] = 1.0 / (topic_totals[k] + prior_totals[k])
        for v in range(weights.shape[0]):
            if topic_prior.shape[0] > 0:
                for k in range(K):
                    weights[v, k] = <float>((word_topic_counts[v, k] + <double>topic_prior[v, k]) * scratch_inverse[k])
            else:
                for k in range(K):
                    weights[v, k] = <float>((word_topic_counts[v, k] + word_prior[v]) * scratch_inverse[k])


def expected_counts(
    const int32_t[::1] words,                   # IN (n,): tokens of the words of the block, ascending within a document
    const int64_t[::1] offsets,                 # IN (D + 1,)
    const int32_t[::1] topics,                  # IN (n,)
    const int64_t[::1] all_offsets,             # IN (D + 1,): of the documents with all of their words
    const int32_t[::1] all_topics,              # IN (N,)
    const double[:, ::1] doc_prior,             # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,                  # IN (D,): the row of each document; empty if all have the first
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,             # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv
    const int64_t[::1] topic_totals,            # IN (K,): m_k
    const float[:, ::1] weights,                # IN (V, K): of `weigh_words`
    real[:, ::1] doc_topic,                     # IN/OUT (D, K): E(n_dk) is added
    double[:, ::1] word_topic,                  # IN/OUT (V, K): E(m_kv) is added
    double[:, ::1] scratch_double,              # SCRATCH (3, K)
    int32_t[::1] scratch_counts,                # SCRATCH (K,)
):
    """Add the full conditionals of all tokens to the counts."""
    cdef:
        int64_t K = topic_totals.shape[0], d, i, j, n, v, row = 0
        bint wide = wider_vectors(), several = row_of.shape[0] > 0
        int32_t t
        double eta, total, rest, less, share, change, kept
        double* doc = &scratch_double[0, 0]
        double* taken = &scratch_double[1, 0]
        double* doc_row = &scratch_double[2, 0]
        int32_t* counts = &scratch_counts[0]
        const float* word

    with nogil:
        memset(taken, 0, K * sizeof(double))
        for d in range(offsets.shape[0] - 1):
            i = offsets[d]
            if i == offsets[d + 1]:
                continue
            row = row_of[d] if several else 0
            for j in range(0, K, 16):
                # Added to when the document ends.
                PREFETCH(&doc_topic[d, j])
            memset(counts, 0, K * sizeof(int32_t))
            for j in range(all_offsets[d], all_offsets[d + 1]):
                counts[all_topics[j]] += 1
            memset(doc_row, 0, K * sizeof(double))
            set_document(counts, &doc_prior[row, 0], K, doc)
            while i < offsets[d + 1]:
                v = words[i]
                word = &weights[v, 0]
                total = sum_weights_wide(doc, word, K) if wide else sum_weights(doc, word, K)
                share = 0
                j = i
                while j < offsets[d + 1] and words[j] == v:
                    t = topics[j]
                    eta = topic_prior[v, t] if topic_prior.shape[0] > 0 else word_prior[v]
                    less = ((counts[t] - 1 + doc_prior[row, t]) * (word_topic_counts[v, t] - 1 + eta)
                            / (topic_totals[t] - 1 + prior_totals[t]))
                    rest = total - doc[t] * word[t]
                    if rest < 1e-6 * total:
                        # One topic has almost all of the weight: the difference would be a rounding error.
                        kept = doc[t]
                        doc[t] = 0
                        rest = sum_weights(doc, word, K)
                        doc[t] = kept
                    rest = 1.0 / (rest + less)
                    share += rest
                    taken[t] += rest
                    doc_row[t] += less * rest
                    word_topic[v, t] += less * rest
                    j += 1
                # The difference of the shares first: for one token it is exactly zero, whatever the weight is.
                for n in range(i, j):
                    t = topics[n]
                    change = doc[t] * word[t] * (share - taken[t])
                    doc_row[t] += change
                    word_topic[v, t] += change
                    doc[t] = taken[t] = 0
                if wide:
                    add_weights_wide(doc, word, share, K, doc_row, &word_topic[v, 0])
                else:
                    add_weights(doc, word, share, K, doc_row, &word_topic[v, 0])
                for n in range(i, j):
                    t = topics[n]
                    doc[t] = counts[t] + doc_prior[row, t]
                i = j
            if real is float:
                add_to_float(doc_row, K, &doc_topic[d, 0])
            else:
                add_to_double(doc_row, K, &doc_topic[d, 0])
