"""The counts and weights with which tokens are drawn word by word (see _word_major.pyx)."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from sklda._kernels._lanes cimport LANES, PREFETCH
from sklda._kernels._lists cimport ROW_16, word_row, word_row_512


cdef struct Sparse:
    int64_t K
    int64_t P
    int64_t n_spans
    bint wide                   # whether to use AVX-512
    bint has_lists              # whether any document has a list
    const int32_t* begins       # the counts of document d begin at entry begins[d] * LANES (D,)
    uint32_t* entries           # n_dk: lists and rows
    int32_t* sizes              # lengths of the lists; ROW_16 or ROW_32 for a row (D,)
    float* excess               # strength * excess is added to n_dk, at the places of `entries`; NULL: nothing is
    float strength
    const double* doc_prior     # alpha that all documents share (K,)
    const double* prior_totals  # sum of eta over words (K,)
    double* totals              # m_k (K,)
    double eta                  # of the open word, if topics share it
    const float* own_eta        # of the open word, if each topic has its own (P,); NULL otherwise
    int32_t* counts             # m_kv of the open word, zero in the padding (P,)
    float* word                 # q_k of the open word; zero in the padding (P,)
    float* inverse              # 1 / (m_k + sum of eta), zero in the padding (P,)
    float* alpha                # zero in the padding (P,)
    float* smooth               # alpha_k q_k (P,)
    double* blocks              # its sums over blocks of LANES topics (n_spans * LANES,)
    double* spans               # its sums over spans of LANES blocks (n_spans,)
    double smooth_total
    float* weights              # scratch (longest list, padded)
    double* walked              # scratch (longest list, or P, over LANES)
    uint64_t* state


cdef inline void set_scratch(Sparse* sparse, int64_t P, float* floats, double* doubles, int32_t* counts) noexcept nogil:
    """Set the scratch arrays.

    floats: 4 P + longest list. doubles: S (LANES + 1) + longest list or P // LANES, where S is `n_spans`. counts: P.
    """
    sparse.P, sparse.n_spans = P, (P + LANES * LANES - 1) // (LANES * LANES)
    sparse.counts, sparse.word, sparse.inverse = counts, floats, floats + P
    sparse.alpha, sparse.smooth, sparse.weights = floats + 2 * P, floats + 3 * P, floats + 4 * P
    sparse.blocks = doubles
    sparse.spans = sparse.blocks + sparse.n_spans * LANES
    sparse.walked = sparse.spans + sparse.n_spans
    memset(counts, 0, P * sizeof(int32_t))
    memset(doubles, 0, sparse.n_spans * LANES * sizeof(double))


cdef inline void weigh_topics(Sparse* sparse) noexcept nogil:
    """Compute `inverse` and `alpha`."""
    cdef int64_t k
    for k in range(sparse.P):
        sparse.inverse[k] = sparse.alpha[k] = 0
    for k in range(sparse.K):
        sparse.inverse[k] = <float>(1.0 / (sparse.totals[k] + sparse.prior_totals[k]))
        sparse.alpha[k] = <float>sparse.doc_prior[k]


cdef inline void open_word(Sparse* sparse) noexcept nogil:
    """Compute the weights of a word whose counts and prior are given."""
    cdef int64_t j, k
    if sparse.wide:
        word_row_512(sparse.counts, <float>sparse.eta, sparse.own_eta, sparse.inverse, sparse.alpha, sparse.P,
                     sparse.word, sparse.smooth, sparse.blocks)
    else:
        word_row(sparse.counts, <float>sparse.eta, sparse.own_eta, sparse.inverse, sparse.alpha, sparse.P,
                 sparse.word, sparse.smooth, sparse.blocks)
    sparse.smooth_total = 0
    for j in range(sparse.n_spans):
        sparse.spans[j] = 0
        for k in range(j * LANES, (j + 1) * LANES):
            sparse.spans[j] += sparse.blocks[k]
        sparse.smooth_total += sparse.spans[j]


cdef inline void fetch(Sparse* sparse, int32_t d) noexcept nogil:
    cdef:
        int64_t j, size = sparse.sizes[d], first = sparse.begins[d]
    if size < 0:
        size = sparse.P // 2 if size == ROW_16 else sparse.P
    for j in range(first, first + (size + LANES - 1) // LANES):
        PREFETCH(sparse.entries + j * LANES)
        if sparse.excess != NULL:
            PREFETCH(sparse.excess + j * LANES)


cdef inline double change(Sparse* sparse, int64_t k, float value) noexcept nogil:
    """Set one of the smooth weights and update the sums. Return the difference of the weights."""
    cdef double difference = <double>value - sparse.smooth[k]
    sparse.smooth[k] = value
    sparse.blocks[k // LANES] += difference
    sparse.spans[k // LANES // LANES] += difference
    return difference


cdef inline double eta_of(Sparse* sparse, int64_t k) noexcept nogil:
    return sparse.eta if sparse.own_eta == NULL else sparse.own_eta[k]


cdef inline double stay_weight(Sparse* sparse, int64_t t, double n) noexcept nogil:
    """The weight of the present topic, of which the document has n tokens, this one included."""
    return ((n - 1 + sparse.doc_prior[t]) * (sparse.counts[t] - 1 + eta_of(sparse, t))
            / (sparse.totals[t] - 1 + sparse.prior_totals[t]))


cdef inline void shift(Sparse* sparse, int32_t k, int step) noexcept nogil:
    """Add `step`, 1 or -1, to the counts of a topic in the open word and in all words."""
    sparse.counts[k] += step
    sparse.totals[k] += step
    sparse.inverse[k] = <float>(1.0 / (sparse.totals[k] + sparse.prior_totals[k]))
    sparse.word[k] = (sparse.counts[k] + <float>eta_of(sparse, k)) * sparse.inverse[k]
    if sparse.has_lists:
        sparse.smooth_total += change(sparse, k, sparse.alpha[k] * sparse.word[k])
