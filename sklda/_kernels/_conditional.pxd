"""Weights of the full conditionals in double precision, for passes over the corpus that compute probabilities."""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset


cdef extern from "_conditional.h" nogil:
    double conditional(const int32_t* counts, const double* alpha, const int32_t* row, double eta, const float* own,
                       const double* inverse, int64_t n, double* weights)


cdef struct Conditional:
    int64_t K
    int64_t P
    const int32_t* rows             # m_kv, rows of P
    const double* doc_prior         # the distinct rows of alpha, K numbers each
    const int32_t* row_of           # the row of each document (D,); NULL if all have the first
    const double* alpha             # of the document (K,)
    const double* word_prior        # eta (V,) when topics share it, else not used
    const float* topic_prior        # eta, rows of P, when each topic has its own, else NULL
    const double* prior_totals      # sum of eta over words (K,)
    int32_t* counts                 # n_dk (K,)
    double* inverse                 # 1 / (m_k + prior_totals_k) (K,)
    double* weights                 # of the full conditional, up to a factor (K,)


cdef inline void open_corpus(
    Conditional* c, const double[:, ::1] doc_prior, const int32_t[::1] row_of, const double[::1] word_prior,
    const float[:, ::1] topic_prior, const double[::1] prior_totals, const int32_t* rows, int64_t P,
    const int64_t* topic_totals, int32_t[::1] counts, double* inverse, double* weights,
) noexcept nogil:
    """Set the priors, the counts of the corpus and the scratch."""
    cdef int64_t k
    c.K, c.P, c.rows = prior_totals.shape[0], P, rows
    c.doc_prior, c.row_of = &doc_prior[0, 0], &row_of[0] if row_of.shape[0] > 0 else NULL
    c.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    c.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    c.prior_totals = &prior_totals[0]
    c.counts, c.inverse, c.weights = &counts[0], inverse, weights
    for k in range(c.K):
        set_total(c, k, topic_totals[k])


cdef inline void set_total(Conditional* c, int64_t k, int64_t total) noexcept nogil:
    """Topic k has `total` tokens."""
    c.inverse[k] = 1.0 / (total + c.prior_totals[k])


cdef inline void open_document(
    Conditional* c, int64_t d, const int64_t[::1] offsets, const int32_t[::1] topics,
) noexcept nogil:
    """Set the prior of document d and count its topics."""
    cdef int64_t i
    c.alpha = c.doc_prior + (c.row_of[d] * c.K if c.row_of != NULL else 0)
    memset(c.counts, 0, c.K * sizeof(int32_t))
    for i in range(offsets[d], offsets[d + 1]):
        c.counts[topics[i]] += 1


cdef inline double weigh(Conditional* c, int64_t v) noexcept nogil:
    """Compute the weights of the topics for word v, from all the counts; their sum."""
    cdef const float* own = c.topic_prior + v * c.P if c.topic_prior != NULL else NULL
    cdef double eta = c.word_prior[v] if own == NULL else 0
    return conditional(c.counts, c.alpha, c.rows + v * c.P, eta, own, c.inverse, c.K, c.weights)
