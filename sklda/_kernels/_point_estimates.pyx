"""CGS_p: expected counts from the full conditionals, one pass over the tokens, once per distinct word of a document.

Tokens of one word in one document share their full conditional but for their own count, which is taken off the single
topic that each is in: with weights w_k from the whole counts and w'_t without a token of topic t,
p_k = w_k / (W - w_t + w'_t) for k != t.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset


def expected_counts(
    const int32_t[::1] words,                   # IN (N,): ascending within a document
    const int64_t[::1] offsets,                 # IN (D + 1,)
    const int32_t[::1] topics,                  # IN (N,)
    const double[:, ::1] doc_prior,             # IN (1 or D, K): alpha
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,             # IN (K,): sum of eta over words
    const int32_t[:, ::1] word_topic_counts,    # IN (V, P): m_kv
    const int64_t[::1] topic_totals,            # IN (K,): m_k
    double[:, ::1] doc_topic,                   # IN/OUT (D, K): E(n_dk) is added
    double[:, ::1] word_topic,                  # IN/OUT (V, K): E(m_kv) is added
    double[:, ::1] scratch_double,              # SCRATCH (4, K)
    int32_t[::1] scratch_counts,                # SCRATCH (at least K,)
):
    cdef:
        int64_t K = topic_totals.shape[0], d, i, j, k, v
        int32_t t
        bint own = topic_prior.shape[0] > 0
        bint prior_per_doc = doc_prior.shape[0] > 1
        double eta = 0, total, rest, less, share
        const double* alpha
        double* weights = &scratch_double[0, 0]
        double* inverse = &scratch_double[1, 0]
        double* soft = &scratch_double[2, 0]
        double* taken = &scratch_double[3, 0]
        int32_t* counts = &scratch_counts[0]

    with nogil:
        for k in range(K):
            inverse[k] = 1.0 / (topic_totals[k] + prior_totals[k])
        for d in range(offsets.shape[0] - 1):
            alpha = &doc_prior[d if prior_per_doc else 0, 0]
            memset(counts, 0, K * sizeof(int32_t))
            for i in range(offsets[d], offsets[d + 1]):
                counts[topics[i]] += 1
            i = offsets[d]
            while i < offsets[d + 1]:
                v = words[i]
                total = 0
                if own:
                    for k in range(K):
                        weights[k] = (counts[k] + alpha[k]) * (word_topic_counts[v, k] + topic_prior[v, k]) * inverse[k]
                        total += weights[k]
                else:
                    eta = word_prior[v]
                    for k in range(K):
                        weights[k] = (counts[k] + alpha[k]) * (word_topic_counts[v, k] + eta) * inverse[k]
                        total += weights[k]
                memset(soft, 0, 2 * K * sizeof(double))
                share = 0
                j = i
                while j < offsets[d + 1] and words[j] == v:
                    t = topics[j]
                    if own:
                        eta = topic_prior[v, t]
                    less = ((counts[t] - 1 + alpha[t]) * (word_topic_counts[v, t] - 1 + eta)
                            / (topic_totals[t] - 1 + prior_totals[t]))
                    rest = total - weights[t]
                    if rest < 1e-6 * total:
                        # Where one topic has nearly all, the difference would be rounding.
                        rest = 0
                        for k in range(K):
                            if k != t:
                                rest += weights[k]
                    rest = 1.0 / (rest + less)
                    share += rest
                    soft[t] += less * rest
                    taken[t] += rest
                    j += 1
                for k in range(K):
                    soft[k] += weights[k] * (share - taken[k])
                    doc_topic[d, k] += soft[k]
                    word_topic[v, k] += soft[k]
                i = j
