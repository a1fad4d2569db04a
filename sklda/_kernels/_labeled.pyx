"""The collapsed Gibbs sampler in which a document has only some of the topics: its labels, and topics open to all.

The full conditional of a token of word v in document d (Ramage et al. 2009; Papanikolaou et al. 2017, equation 5):

    p(z = k | rest)  ∝  (n_dk + alpha_k) (m_kv + eta_kv) / (m_k + sum_v eta_kv),    k open in d,

where the counts exclude the token itself. Only the pairs of a word and a topic that can occur have a count. For each
distinct word of a document, `places` has the positions of these counts, one for each open topic.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._xoshiro cimport uniform


cdef struct Open:
    int64_t n                   # number of open topics of the document
    const int32_t* topics       # the open topics (n,)
    int32_t* choices            # which of them each token of the document has
    int32_t* counts             # n_dk (n,)
    const double* alpha         # of all topics (K,)
    const double* word_prior    # eta of a word when topics share it, else NULL
    const double* place_prior   # eta of a pair of word and topic, when topics have different ones, else NULL
    const double* inverse       # 1 / (m_k + sum of eta) (K,)
    double* weights             # of the open topics (n,)


cdef inline void open_document(
    Open* doc, int64_t d, const int64_t[::1] offsets, const int64_t[::1] open_offsets, const int32_t[::1] open_topics,
    int32_t[::1] choices,
) noexcept nogil:
    """Set the open topics of document d and count its tokens in each."""
    cdef int64_t i
    doc.n = open_offsets[d + 1] - open_offsets[d]
    if doc.n == 0 or offsets[d + 1] == offsets[d]:
        doc.n = 0
        return
    doc.topics, doc.choices = &open_topics[open_offsets[d]], &choices[offsets[d]]
    memset(doc.counts, 0, doc.n * sizeof(int32_t))
    for i in range(offsets[d + 1] - offsets[d]):
        doc.counts[doc.choices[i]] += 1


cdef inline double eta_of(const Open* doc, int32_t word, int32_t place) noexcept nogil:
    return doc.word_prior[word] if doc.place_prior == NULL else doc.place_prior[place]


cdef inline double weigh(
    const Open* doc, int32_t word, const int32_t* places, const int32_t* pair_counts,
) noexcept nogil:
    """The weights of the open topics, from the counts as they are; their sum."""
    cdef:
        int64_t j
        double total = 0, eta = 0
    if doc.place_prior == NULL:
        eta = doc.word_prior[word]
    for j in range(doc.n):
        if doc.place_prior != NULL:
            eta = doc.place_prior[places[j]]
        doc.weights[j] = ((doc.counts[j] + doc.alpha[doc.topics[j]]) * (pair_counts[places[j]] + eta)
                          * doc.inverse[doc.topics[j]])
        total += doc.weights[j]
    return total


def sweep(
    const int32_t[::1] words,             # IN (N,)
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int64_t[::1] open_offsets,      # IN (D + 1,)
    const int32_t[::1] open_topics,       # IN
    const int64_t[::1] place_offsets,     # IN (D + 1,)
    const int32_t[::1] places,            # IN
    const double[::1] alpha,              # IN (K,)
    const double[::1] word_prior,         # IN (V,): eta when topics share it; empty otherwise
    const double[::1] place_prior,        # IN: eta of every pair when topics have different ones; empty otherwise
    const double[::1] prior_totals,       # IN (K,): sum of eta over words
    int64_t first,                        # IN: the first document to sweep
    int64_t last,                         # IN: the one after the last
    int32_t[::1] choices,                 # IN/OUT (N,)
    int32_t[::1] pair_counts,             # IN/OUT: m_kv
    int64_t[::1] totals,                  # IN/OUT (K,): m_k
    uint64_t[::1] stream,                 # IN/OUT (4,): generator
    double[::1] scratch_double,           # SCRATCH (K + most open topics,)
    int32_t[::1] scratch_counts,          # SCRATCH (most open topics,)
):
    """Draw every token once from its full conditional. A token with one open topic stays there."""
    cdef:
        int64_t K = totals.shape[0], d, i, k
        int32_t old, new
        const int32_t* at
        double* inverse = &scratch_double[0]
        double u, passed
        Open doc

    if words.shape[0] == 0 or places.shape[0] == 0:
        return
    doc.alpha, doc.inverse, doc.counts, doc.weights = &alpha[0], inverse, &scratch_counts[0], inverse + K
    doc.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    doc.place_prior = &place_prior[0] if place_prior.shape[0] > 0 else NULL
    with nogil:
        for k in range(K):
            inverse[k] = 1.0 / (totals[k] + prior_totals[k])
        for d in range(first, last):
            if open_offsets[d + 1] - open_offsets[d] < 2:
                continue
            open_document(&doc, d, offsets, open_offsets, open_topics, choices)
            if doc.n == 0:
                continue
            at = &places[place_offsets[d]]
            for i in range(offsets[d], offsets[d + 1]):
                if i > offsets[d] and words[i] != words[i - 1]:
                    at += doc.n
                old = choices[i]
                doc.counts[old] -= 1
                pair_counts[at[old]] -= 1
                k = doc.topics[old]
                totals[k] -= 1
                inverse[k] = 1.0 / (totals[k] + prior_totals[k])
                u = uniform(&stream[0]) * weigh(&doc, words[i], at, &pair_counts[0])
                new, passed = 0, doc.weights[0]
                while new < doc.n - 1 and passed <= u:
                    new += 1
                    passed += doc.weights[new]
                choices[i] = new
                doc.counts[new] += 1
                pair_counts[at[new]] += 1
                k = doc.topics[new]
                totals[k] += 1
                inverse[k] = 1.0 / (totals[k] + prior_totals[k])


def expected_counts(
    const int32_t[::1] words,             # IN (N,)
    const int64_t[::1] offsets,           # IN (D + 1,)
    const int64_t[::1] open_offsets,      # IN (D + 1,)
    const int32_t[::1] open_topics,       # IN
    const int64_t[::1] place_offsets,     # IN (D + 1,)
    const int32_t[::1] places,            # IN
    const double[::1] alpha,              # IN (K,)
    const double[::1] word_prior,         # IN (V,): eta when topics share it; empty otherwise
    const double[::1] place_prior,        # IN: eta of every pair when topics have different ones; empty otherwise
    const double[::1] prior_totals,       # IN (K,)
    int64_t first,                        # IN
    int64_t last,                         # IN
    int32_t[::1] choices,                 # IN (N,)
    const int32_t[::1] pair_counts,       # IN: m_kv
    const int64_t[::1] totals,            # IN (K,): m_k
    double[::1] doc_sums,                 # IN/OUT: E(n_dk) is added, for every document and open topic
    double[::1] pair_sums,                # IN/OUT: E(m_kv) is added
    double[::1] scratch_double,           # SCRATCH (K + most open topics,)
    int32_t[::1] scratch_counts,          # SCRATCH (most open topics,)
):
    """Add the full conditional of every token to the counts (Papanikolaou et al. 2017, equations 33 and 41)."""
    cdef:
        int64_t K = totals.shape[0], d, i, k, j, row
        int32_t own
        const int32_t* at
        double* inverse = &scratch_double[0]
        double rest, stay, share
        Open doc

    if words.shape[0] == 0 or places.shape[0] == 0:
        return
    doc.alpha, doc.inverse, doc.counts, doc.weights = &alpha[0], inverse, &scratch_counts[0], inverse + K
    doc.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    doc.place_prior = &place_prior[0] if place_prior.shape[0] > 0 else NULL
    with nogil:
        for k in range(K):
            inverse[k] = 1.0 / (totals[k] + prior_totals[k])
        for d in range(first, last):
            open_document(&doc, d, offsets, open_offsets, open_topics, choices)
            if doc.n == 0:
                continue
            at, row = &places[place_offsets[d]], open_offsets[d]
            for i in range(offsets[d], offsets[d + 1]):
                if i > offsets[d] and words[i] != words[i - 1]:
                    at += doc.n
                own = choices[i]
                k = doc.topics[own]
                stay = ((doc.counts[own] - 1 + alpha[k]) * (pair_counts[at[own]] - 1 + eta_of(&doc, words[i], at[own]))
                        / (totals[k] - 1 + prior_totals[k]))
                # The weight of the token's own topic comes from counts without the token.
                weigh(&doc, words[i], at, &pair_counts[0])
                doc.weights[own] = stay
                rest = 0
                for j in range(doc.n):
                    rest += doc.weights[j]
                for j in range(doc.n):
                    share = doc.weights[j] / rest
                    doc_sums[row + j] += share
                    pair_sums[at[j]] += share
