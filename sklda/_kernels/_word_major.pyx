"""One exact sweep of the collapsed Gibbs sampler, word by word. The topic counts of a document are a short list.

The full conditional of a token is that of ``_collapsed``, as a sum of two terms:

    (n_dk + s e_dk) q_k  over the topics in the document,    alpha_k q_k  over all topics,
    q_k = (m_kv + eta_kv) / (m_k + sum_v eta_kv).

alpha_k + s e_dk is the prior of the document, with most e_dk zero. Tokens of one word share the row q, which stays in
the cache. No array of size V x K or D x K is kept. Documents that are long for the number of topics have rows of all
counts in place of lists; then the weights of all topics are computed, as in ``_collapsed``.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from sklda._kernels._lists cimport ROW_16 as LIST_ROW_16, ROW_32 as LIST_ROW_32, very_wide_vectors
from sklda._kernels._sparse cimport Sparse, fetch, open_word, set_scratch, weigh_topics
from sklda._kernels._sparse_draws cimport draw

# The sizes of documents whose counts are rows of 16 or 32 bits.
ROW_16, ROW_32 = LIST_ROW_16, LIST_ROW_32

# Number of tokens between a prefetch and the draw that needs it.
cdef enum:
    AHEAD = 8


def wide_vectors():
    """Whether this machine has AVX-512 and the package was built with it."""
    return bool(very_wide_vectors())


def sweep(
    const int64_t[::1] word_offsets,       # IN (V + 1,)
    const int32_t[::1] documents,          # IN (N,): word by word
    int64_t first,                         # IN: the words first, ..., last - 1 are swept
    int64_t last,                          # IN
    const double[::1] doc_prior,           # IN (K,): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    float strength,                        # IN: s
    uint16_t[::1] topics,                  # IN/OUT (N,): z, word by word
    const int32_t[::1] begins,             # IN (D,)
    uint32_t[::1] entries,                 # IN/OUT (E,): lists or rows of n_dk
    float[::1] excess,                     # IN/OUT (E,): e_dk at the same places; empty: all are zero
    int32_t[::1] sizes,                    # IN/OUT (D,)
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    bint wide,                             # IN: use AVX-512, see wide_vectors(); the draws are the same
    float[::1] scratch_floats,             # SCRATCH (4 P + longest list, padded)
    bint has_lists,                        # IN: whether any document has a list
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[::1] scratch_doubles,           # SCRATCH (K + S (LANES + 1) + longest list or P // LANES): S spans
):
    cdef:
        int64_t N = documents.shape[0], v, i, k
        int32_t t, new
        Sparse sparse
        int32_t* counts = &scratch_counts[0]

    if N == 0:
        return
    sparse.K, sparse.totals = topic_totals.shape[0], &scratch_doubles[0]
    set_scratch(&sparse, scratch_counts.shape[0], &scratch_floats[0], &scratch_doubles[sparse.K], counts)
    sparse.wide, sparse.has_lists, sparse.state = wide, has_lists, &stream[0]
    sparse.begins, sparse.entries, sparse.sizes = &begins[0], &entries[0], &sizes[0]
    sparse.excess, sparse.strength = &excess[0] if excess.shape[0] > 0 else NULL, strength
    sparse.doc_prior, sparse.prior_totals = &doc_prior[0], &prior_totals[0]
    sparse.eta, sparse.own_eta = 0, NULL
    with nogil:
        for k in range(sparse.K):
            sparse.totals[k] = topic_totals[k]
        weigh_topics(&sparse)
        for v in range(first, last):
            if word_offsets[v] == word_offsets[v + 1]:
                continue
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] += 1
            if topic_prior.shape[0] > 0:
                sparse.own_eta = &topic_prior[v, 0]
            else:
                sparse.eta = word_prior[v]
            open_word(&sparse)
            for i in range(word_offsets[v], word_offsets[v + 1]):
                if i + AHEAD < N:
                    fetch(&sparse, documents[i + AHEAD])
                t = topics[i]
                new = draw(&sparse, documents[i], t)
                if new != t:
                    topics[i] = <uint16_t>new
                    topic_totals[t] -= 1
                    topic_totals[new] += 1
            for i in range(word_offsets[v], word_offsets[v + 1]):
                counts[topics[i]] = 0
