"""Topic proportions of documents whose prior depends on topics of labels: the test samplers of Dependency-LDA.

A document has proportions theta' of topics of labels, and label tokens c_j with topics z'_j. Its prior of the label k
is alpha_k = base_k + strength * (share of k in the label tokens). Given alpha, the words are as in LDA (Rubin et al.
2012).

With label tokens, all of z, c and z' are drawn from their full conditionals. If token j is taken out, and step is
strength / (number of label tokens),

    p(c_j = k | z'_j, rest)  ∝  phi'_tk  G(n_k + alpha_k + step) G(alpha_k) / (G(n_k + alpha_k) G(alpha_k + step)),

where G is the Gamma function and n_k the number of words with label k. In the fast approximation, the labels of the
words take the place of label tokens, and the expected share of k given theta' that of their share.
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._barrier cimport load
from sklda._kernels._document cimport Document, averaged_sweep, clear, open_block, open_document, sweep
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef struct Labels:
    int64_t L                   # number of labels
    int64_t T                   # number of topics of labels
    int64_t M                   # number of label tokens, 0 for the approximation
    double strength
    const double* label_topic   # phi' by label (L, T)
    const double* topic_prior   # Dirichlet parameter of theta' (T,)
    const double* base          # the part of alpha that is the same for all documents (K,)
    double* prior               # alpha of the document (K,)
    int32_t* topic_counts       # n'_t (T,)
    int32_t* token_topics       # z', one for each label token or word, -1 where there is none yet
    int32_t* label_counts       # label tokens of each label (L,)
    int32_t* token_labels       # c (M,), -1 where there is none yet
    double* running             # scratch (L or T, whichever is more)


cdef inline int32_t choose(double* running, int64_t n, uint64_t* state) noexcept nogil:
    """An index of the running sums, drawn with their differences as weights."""
    cdef:
        double u = uniform(state) * running[n - 1]
        int32_t k = 0
    while k < n - 1 and running[k] <= u:
        k += 1
    return k


cdef inline void draw_topic(Labels* own, int64_t j, int32_t label, uint64_t* state) noexcept nogil:
    """Draw z'_j, which is in no count, given its label, -1 for none."""
    cdef:
        int64_t t
        double total = 0
    for t in range(own.T):
        total += (own.topic_counts[t] + own.topic_prior[t]) * (own.label_topic[label * own.T + t] if label >= 0 else 1)
        own.running[t] = total
    own.token_topics[j] = choose(own.running, own.T, state)
    own.topic_counts[own.token_topics[j]] += 1


cdef inline void draw_label(Labels* own, int64_t j, const int32_t* counts, uint64_t* state) noexcept nogil:
    """Draw c_j, which is in no count, given its topic and the labels of the words."""
    cdef:
        int64_t k, t = own.token_topics[j]
        double step = own.strength / own.M, largest = 0, total = 0
    for k in range(own.L):
        own.running[k] = 0
        if counts[k] > 0:
            own.running[k] = log_gamma_ratio(own.prior[k] + step, counts[k]) - log_gamma_ratio(own.prior[k], counts[k])
            if own.running[k] > largest:
                largest = own.running[k]
    for k in range(own.L):
        total += own.label_topic[k * own.T + t] * exp(own.running[k] - largest)
        own.running[k] = total
    k = choose(own.running, own.L, state)
    own.token_labels[j] = <int32_t>k
    own.label_counts[k] += 1
    own.prior[k] = own.base[k] + step * own.label_counts[k]


cdef inline void draw_label_tokens(Labels* own, Document* doc) noexcept nogil:
    cdef:
        int64_t j
        int32_t k
    for j in range(own.M):
        k = own.token_labels[j]
        if own.token_topics[j] >= 0:
            own.topic_counts[own.token_topics[j]] -= 1
        draw_topic(own, j, k, doc.state)
        if k >= 0:
            own.label_counts[k] -= 1
            own.prior[k] = own.base[k] + own.strength / own.M * own.label_counts[k]
        draw_label(own, j, doc.counts, doc.state)


cdef inline void expect_labels(Labels* own) noexcept nogil:
    """alpha from the expected shares of labels, given the topics of labels."""
    cdef:
        int64_t k, t
        double total = 0, share
    for t in range(own.T):
        total += own.topic_counts[t] + own.topic_prior[t]
    for k in range(own.L):
        share = 0
        for t in range(own.T):
            share += (own.topic_counts[t] + own.topic_prior[t]) * own.label_topic[k * own.T + t]
        own.prior[k] = own.base[k] + own.strength * share / total


cdef inline void follow_words(Labels* own, Document* doc) noexcept nogil:
    """The fast approximation: the labels of the words are the label tokens."""
    cdef:
        int64_t i
    for i in range(doc.n):
        if own.token_topics[i] >= 0:
            own.topic_counts[own.token_topics[i]] -= 1
            own.token_topics[i] = -1
        if 0 <= doc.topics[i] < own.L:
            draw_topic(own, i, doc.topics[i], doc.state)
    expect_labels(own)


cdef inline void weigh_labels(Document* doc) noexcept nogil:
    """Proportions from the counts and the present alpha."""
    cdef int64_t k
    for k in range(doc.K):
        doc.proportions[k] = <float>(doc.counts[k] + doc.prior[k])


def fold_in(
    const int32_t[::1] words,            # IN (N,): rows of word_topic
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] base_prior,     # IN (1, K): the part of alpha that all documents share
    const double[:, ::1] label_topic,    # IN (L, T): phi' by label; L <= K
    const double[::1] topic_prior,       # IN (T,): Dirichlet parameter of theta'
    double strength,                     # IN: sum of the part of alpha that depends on the document
    int64_t n_label_tokens,              # IN: 0 for the fast approximation
    int64_t n_sweeps,                    # IN
    int64_t n_burn_in,                   # IN: sweeps that are not averaged
    int estimate,                        # IN: 0, 1 or 2, see _fold_in.pyx
    const float[::1] scale,              # IN (W,): what the rows of word_topic were divided by
    double[:, ::1] expected_counts,      # OUT (D, K): mean over sweeps of the estimate of n_dk
    double[:, ::1] mean_prior,           # OUT (D, K): mean over sweeps of alpha
    int32_t[:, ::1] scratch_tokens,      # SCRATCH (3, longest document or number of label tokens)
    int32_t[:, ::1] scratch_counts,      # SCRATCH (3, at least P and T)
    float[:, ::1] scratch_float,         # SCRATCH (3, P)
    double[:, ::1] scratch_double,       # SCRATCH (3, at least P and T)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    cdef:
        int64_t d, j, k, s, most = scratch_tokens.shape[1]
        uint64_t[4] state
        Document doc
        Labels own

    if words.shape[0] == 0 and n_label_tokens == 0 and offsets.shape[0] < 2:
        return
    own.L, own.T, own.M, own.strength = label_topic.shape[0], label_topic.shape[1], n_label_tokens, strength
    own.label_topic, own.topic_prior, own.base = &label_topic[0, 0], &topic_prior[0], &base_prior[0, 0]
    own.prior, own.running = &scratch_double[0, 0], &scratch_double[1, 0]
    own.topic_counts, own.label_counts = &scratch_counts[1, 0], &scratch_counts[2, 0]
    own.token_topics, own.token_labels = &scratch_tokens[1, 0], &scratch_tokens[2, 0]
    with nogil:
        for d in range(offsets.shape[0] - 1):
            memset(own.topic_counts, 0, own.T * sizeof(int32_t))
            memset(own.label_counts, 0, own.L * sizeof(int32_t))
            for k in range(base_prior.shape[1]):
                own.prior[k] = base_prior[0, k]
            expect_labels(&own)
            for k in range(base_prior.shape[1]):
                expected_counts[d, k] = 0
                # For a document without words, alpha has its prior mean.
                mean_prior[d, k] = own.prior[k]
            if offsets[d + 1] == offsets[d] or load(&stop[0]):
                continue
            open_block(&doc, word_topic, base_prior, scratch_counts[0], &scratch_float[0, 0], &scratch_double[2, 0])
            open_document(&doc, d, offsets, words, base_prior, &scratch_tokens[0, 0], state, stop)
            doc.prior = own.prior
            seed_state(keys[d], state)
            for j in range(most):
                own.token_topics[j] = own.token_labels[j] = -1
            clear(&doc)
            for k in range(doc.K):
                mean_prior[d, k] = 0
            for s in range(n_sweeps):
                if load(&stop[0]):
                    break
                if s < n_burn_in:
                    sweep(&doc)
                else:
                    averaged_sweep(
                        &doc, estimate, &scale[0], &scratch_float[2, 0], &scratch_float[1, 0], &expected_counts[d, 0]
                    )
                    for k in range(doc.K):
                        mean_prior[d, k] += own.prior[k]
                if own.M > 0:
                    draw_label_tokens(&own, &doc)
                else:
                    follow_words(&own, &doc)
                weigh_labels(&doc)
            for k in range(doc.K):
                expected_counts[d, k] /= n_sweeps - n_burn_in
                mean_prior[d, k] /= n_sweeps - n_burn_in
