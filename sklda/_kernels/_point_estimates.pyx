"""CGS_p: expected counts from the full conditionals, one pass over the tokens, once per distinct word of a document.

A call does this for the tokens of a block of words, so that the counts of the other words need no memory.

Tokens of one word in one document have the same full conditional, except that each token is removed from the count of
its own topic. With weights w_k from all the counts, and w'_t from the counts without one token of topic t,
p_k = w_k / (W - w_t + w'_t) for k != t.

With w_k = (n_dk + alpha_k) f_vk, the part of alpha in the sums over documents is alpha_k f_vk times the sum of 1 / W.
So if documents share alpha, the counts of words need few operations a token: one for each topic with n_dk > 0.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sklda._kernels._lanes cimport PREFETCH, wider_vectors

cdef extern from "_point_estimates.h" nogil:
    void add_to_float(const double* document, const double* factors, const double* own, int64_t n, float* target)
    void add_to_float_wide(const double* document, const double* factors, const double* own, int64_t n, float* target)
    void add_to_double(const double* document, const double* factors, const double* own, int64_t n, double* target)
    double sum_weights(const double* document, const float* word, int64_t n)
    double sum_weights_wide(const double* document, const float* word, int64_t n)
    void add_weights(const double* document, const float* word, double share, int64_t n, double* a)
    void add_weights_wide(const double* document, const float* word, double share, int64_t n, double* a)
    void add_word(const float* word, double share, int64_t n, double* a)
    void add_word_wide(const float* word, double share, int64_t n, double* a)

cdef enum:
    # If the own topics of tokens have all but one part in 10^4 of the weight, the sum of 1 / W has larger parts to be
    # taken away from it than rounding leaves digits for.
    MOST_WEIGHT = 10000


ctypedef fused real:
    float
    double


def weigh_words(
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,             # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv
    const int64_t[::1] topic_totals,            # IN (K,): m_k
    const double[::1] alpha,                    # IN (K,): that of all documents, for `sums`
    double[::1] scratch_inverse,                # SCRATCH (K,)
    float[:, ::1] weights,                      # OUT (V, K): f_vk = (m_kv + eta_kv) / (m_k + sum of eta)
    double[::1] sums,                           # OUT (V,), or empty if documents differ in alpha: sum of alpha_k f_vk
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
            if sums.shape[0] > 0:
                sums[v] = sum_weights(&alpha[0], &weights[v, 0], K)


def add_prior_parts(
    const double[::1] alpha,                    # IN (K,)
    const float[:, ::1] weights,                # IN (V, K)
    const double[::1] shares,                   # IN (V,): of `expected_counts`; empty if it leaves nothing out
    double[:, ::1] word_topic,                  # IN/OUT (V, K)
):
    """Add what `expected_counts` leaves out of the counts of words: alpha_k f_vk times the sums of 1 / W."""
    cdef int64_t v, k
    with nogil:
        for v in range(shares.shape[0]):
            for k in range(weights.shape[1]):
                # Rounding may leave less than nothing of a topic that all tokens of the word have.
                word_topic[v, k] = max(word_topic[v, k] + shares[v] * alpha[k] * weights[v, k], 0.0)


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
    const double[::1] sums,                     # IN (V,) or empty: of `weigh_words`
    real[:, ::1] doc_topic,                     # IN/OUT (D, K): E(n_dk) is added
    double[:, ::1] word_topic,                  # IN/OUT (V, K): E(m_kv) is added, without `add_prior_parts`
    double[::1] shares,                         # IN/OUT (V,) or empty, as `sums`: the 1 / W of this rest are added
    double[:, ::1] scratch_double,              # SCRATCH (7, K)
    int32_t[:, ::1] scratch_counts,             # SCRATCH (2, K)
):
    """Add the full conditionals of all tokens to the counts."""
    cdef:
        int64_t K = topic_totals.shape[0], d, i, j, n, v, row = 0, n_own, place
        bint wide = wider_vectors(), several = row_of.shape[0] > 0, shared = sums.shape[0] > 0
        int32_t t
        double eta, total, rest, less, share, kept
        double* doc = &scratch_double[0, 0]         # n_dk + alpha_k
        double* taken = &scratch_double[1, 0]       # the part of the share that tokens of the topic have
        double* factors = &scratch_double[2, 0]     # E(n_dk) = doc[k] * factors[k] + removed[k]
        double* removed = &scratch_double[3, 0]     # the probabilities of the own topics of the tokens
        double* saved = &scratch_double[4, 0]
        double* parts = &scratch_double[5, 0]       # n_dk f_vk of the topics in `own`
        double* inverse = &scratch_double[6, 0]
        int32_t* counts = &scratch_counts[0, 0]
        int32_t* own = &scratch_counts[1, 0]        # the topics of the document
        const float* word

    with nogil:
        memset(taken, 0, K * sizeof(double))
        memset(counts, 0, K * sizeof(int32_t))
        memcpy(doc, &doc_prior[0, 0], K * sizeof(double))
        for n in range(K):
            inverse[n] = 1.0 / (topic_totals[n] - 1 + prior_totals[n])
        for d in range(offsets.shape[0] - 1):
            i = offsets[d]
            if i == offsets[d + 1]:
                continue
            for j in range(0, K, 16):
                # Added to when the document ends.
                PREFETCH(&doc_topic[d, j])
            if several and row_of[d] != row:
                row = row_of[d]
                memcpy(doc, &doc_prior[row, 0], K * sizeof(double))
            n_own = 0
            for j in range(all_offsets[d], all_offsets[d + 1]):
                t = all_topics[j]
                if counts[t] == 0:
                    own[n_own] = t
                    n_own += 1
                counts[t] += 1
            for j in range(n_own):
                doc[own[j]] = counts[own[j]] + doc_prior[row, own[j]]
            memset(factors, 0, K * sizeof(double))
            memset(removed, 0, K * sizeof(double))
            while i < offsets[d + 1]:
                v = words[i]
                word = &weights[v, 0]
                if shared:
                    total = sums[v]
                    for j in range(n_own):
                        # Added to when the share is known.
                        PREFETCH(&word_topic[v, own[j]])
                        parts[j] = counts[own[j]] * <double>word[own[j]]
                        total += parts[j]
                else:
                    total = sum_weights_wide(doc, word, K) if wide else sum_weights(doc, word, K)
                share = 0
                j = i
                while j < offsets[d + 1] and words[j] == v:
                    t = topics[j]
                    eta = topic_prior[v, t] if topic_prior.shape[0] > 0 else word_prior[v]
                    less = (counts[t] - 1 + doc_prior[row, t]) * (word_topic_counts[v, t] - 1 + eta) * inverse[t]
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
                    removed[t] += less * rest
                    word_topic[v, t] += less * rest
                    j += 1
                if j < offsets[d + 1]:
                    for n in range(0, K, 16):
                        # Needed for the next word.
                        PREFETCH(&weights[words[j], n])
                # Of the own topics, the difference of the shares first: for one token it is exactly zero, whatever the
                # weight is.
                for n in range(i, j):
                    saved[topics[n]] = factors[topics[n]]
                if wide:
                    add_word_wide(word, share, K, factors)
                else:
                    add_word(word, share, K, factors)
                for n in range(i, j):
                    t = topics[n]
                    factors[t] = saved[t] + (share - taken[t]) * word[t]
                if shared and share * total < MOST_WEIGHT:
                    for n in range(i, j):
                        saved[topics[n]] = word_topic[v, topics[n]]
                    shares[v] += share
                    for place in range(n_own):
                        word_topic[v, own[place]] += share * parts[place]
                    for n in range(i, j):
                        t = topics[n]
                        less = (share - taken[t]) * counts[t] - taken[t] * doc_prior[row, t]
                        word_topic[v, t] = saved[t] + less * word[t]
                else:
                    for n in range(i, j):
                        t = topics[n]
                        word_topic[v, t] += doc[t] * word[t] * (share - taken[t])
                        doc[t] = 0
                    if wide:
                        add_weights_wide(doc, word, share, K, &word_topic[v, 0])
                    else:
                        add_weights(doc, word, share, K, &word_topic[v, 0])
                    for n in range(i, j):
                        t = topics[n]
                        doc[t] = counts[t] + doc_prior[row, t]
                for n in range(i, j):
                    taken[topics[n]] = 0
                i = j
            if real is float:
                if wide:
                    add_to_float_wide(doc, factors, removed, K, &doc_topic[d, 0])
                else:
                    add_to_float(doc, factors, removed, K, &doc_topic[d, 0])
            else:
                add_to_double(doc, factors, removed, K, &doc_topic[d, 0])
            for j in range(n_own):
                counts[own[j]] = 0
                doc[own[j]] = doc_prior[row, own[j]]
