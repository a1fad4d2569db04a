"""CGS_p: expected counts from the full conditionals, one pass over the tokens, once per distinct word of a document.

A call does this for the tokens of a block of words, so that the counts of the other words need no memory.

Tokens of one word in one document have the same full conditional, except that each token is removed from the count of
its own topic. With weights w_k from all the counts, and w'_t from the counts without one token of topic t,
p_k = w_k / (W - w_t + w'_t) for k != t.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sklda._kernels._conditional cimport Conditional, add_to_both, open_corpus, open_document, weigh


ctypedef fused real:
    float
    double


def expected_counts(
    const int32_t[::1] words,                   # IN (n,): tokens of the words of the block, ascending within a document
    const int64_t[::1] offsets,                 # IN (D + 1,)
    const int32_t[::1] topics,                  # IN (n,)
    const int64_t[::1] all_offsets,             # IN (D + 1,): of the documents with all of their words
    const int32_t[::1] all_topics,              # IN (N,)
    const double[:, ::1] doc_prior,             # IN (1 or D, K): alpha
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,             # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv
    const int64_t[::1] topic_totals,            # IN (K,): m_k
    real[:, ::1] doc_topic,                     # IN/OUT (D, K): E(n_dk) is added
    double[:, ::1] word_topic,                  # IN/OUT (V, K): E(m_kv) is added
    double[:, ::1] scratch_double,              # SCRATCH (4, K)
    int32_t[::1] scratch_counts,                # SCRATCH (at least K,)
):
    """Add the full conditionals of all tokens to the counts."""
    cdef:
        int64_t K = topic_totals.shape[0], d, i, j, k, v
        int32_t t
        double eta, total, rest, less, share, change
        double* taken = &scratch_double[2, 0]
        double* doc_row = &scratch_double[3, 0]
        Conditional c

    with nogil:
        open_corpus(
            &c, doc_prior, word_prior, topic_prior, prior_totals, &word_topic_counts[0, 0], word_topic_counts.shape[1],
            &topic_totals[0], scratch_counts, &scratch_double[1, 0], &scratch_double[0, 0],
        )
        memset(taken, 0, K * sizeof(double))
        for d in range(offsets.shape[0] - 1):
            i = offsets[d]
            if i == offsets[d + 1]:
                continue
            open_document(&c, d, all_offsets, all_topics)
            memset(doc_row, 0, K * sizeof(double))
            while i < offsets[d + 1]:
                v = words[i]
                total = weigh(&c, v)
                share = 0
                j = i
                while j < offsets[d + 1] and words[j] == v:
                    t = topics[j]
                    eta = topic_prior[v, t] if c.topic_prior != NULL else word_prior[v]
                    less = ((c.counts[t] - 1 + c.alpha[t]) * (word_topic_counts[v, t] - 1 + eta)
                            / (topic_totals[t] - 1 + prior_totals[t]))
                    rest = total - c.weights[t]
                    if rest < 1e-6 * total:
                        # One topic has almost all of the weight: the difference would be a rounding error.
                        rest = 0
                        for k in range(K):
                            if k != t:
                                rest += c.weights[k]
                    rest = 1.0 / (rest + less)
                    share += rest
                    taken[t] += rest
                    doc_row[t] += less * rest
                    word_topic[v, t] += less * rest
                    j += 1
                # The difference of the shares first: for one token it is exactly zero, whatever the weight is.
                for j in range(i, j):
                    t = topics[j]
                    change = c.weights[t] * (share - taken[t])
                    doc_row[t] += change
                    word_topic[v, t] += change
                    c.weights[t] = taken[t] = 0
                j += 1
                add_to_both(c.weights, share, K, doc_row, &word_topic[v, 0])
                i = j
            for k in range(K):
                doc_topic[d, k] += <real>doc_row[k]
