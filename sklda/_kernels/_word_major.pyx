"""One exact sweep of the collapsed Gibbs sampler, word by word. The topic counts of a document are a short list.

The full conditional of a token is that of ``_collapsed``, as a sum of two terms:

    (n_dk + s e_dk) q_k  over the topics in the document,    alpha_k q_k  over all topics,
    q_k = (m_kv + eta_kv) / (m_k + sum_v eta_kv).

alpha_k + s e_dk is the prior of the document, with most e_dk zero. Tokens of one word share the row q, which stays in
the cache. No array of size V x K or D x K is kept. Documents that are long for the number of topics have rows of all
counts in place of lists; then the weights of all topics are computed, as in ``_collapsed``.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport LANES
from sklda._kernels._lists cimport ROW_16 as LIST_ROW_16, ROW_32 as LIST_ROW_32, very_wide_vectors
from sklda._kernels._sparse cimport Sparse, fetch, open_word, weigh_topics
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
    float[:, ::1] scratch_float,           # SCRATCH (4, P)
    float[::1] scratch_weights,            # SCRATCH (longest list, padded); empty: no document has a list
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[:, ::1] scratch_blocks,         # SCRATCH (S, LANES): S spans of LANES * LANES topics
    double[::1] scratch_walk,              # SCRATCH (P // LANES + S + K,)
):
    cdef:
        int64_t N = documents.shape[0], v, i, k
        int32_t t, new
        Sparse sparse
        int32_t* counts = &scratch_counts[0]

    if N == 0:
        return
    sparse.K, sparse.P = topic_totals.shape[0], scratch_counts.shape[0]
    sparse.n_spans = scratch_blocks.shape[0]
    sparse.wide, sparse.state = wide, &stream[0]
    sparse.has_lists = scratch_weights.shape[0] > 0
    sparse.begins, sparse.entries, sparse.sizes = &begins[0], &entries[0], &sizes[0]
    sparse.excess, sparse.strength = &excess[0] if excess.shape[0] > 0 else NULL, strength
    sparse.doc_prior, sparse.prior_totals = &doc_prior[0], &prior_totals[0]
    sparse.eta, sparse.own_eta, sparse.counts = 0, NULL, counts
    sparse.word, sparse.inverse = &scratch_float[0, 0], &scratch_float[1, 0]
    sparse.alpha, sparse.smooth = &scratch_float[2, 0], &scratch_float[3, 0]
    sparse.blocks = &scratch_blocks[0, 0]
    sparse.weights = &scratch_weights[0] if sparse.has_lists else NULL
    sparse.walked = &scratch_walk[0]
    sparse.spans = sparse.walked + sparse.P // LANES
    sparse.totals = sparse.spans + sparse.n_spans
    with nogil:
        memset(counts, 0, sparse.P * sizeof(int32_t))
        memset(sparse.blocks, 0, sparse.n_spans * LANES * sizeof(double))
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
