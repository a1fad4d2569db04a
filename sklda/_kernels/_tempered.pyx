"""Many sweeps of a chain on (h, z), h = (eta, alpha) on a grid, in one call (George & Doss 2018, sections 2.3 and 6).

Before every sweep the grid point is drawn from its full conditional,

    p(j | z)  ∝  p(w, z | h_j) / zeta_j,        log p(w, z | h_j) = B(eta_j) + A(alpha_j),

where B and A are sums over the distinct counts m_kv and n_dk (see `CountHistograms`).
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from sklda._kernels._dense cimport Dense, set_rows, set_scratch, store_totals, sweep_document, weigh_topics
from sklda._kernels._log_gamma cimport log_gamma_ratio
from sklda._kernels._xoshiro cimport uniform


cdef int64_t choose(double* weights, int64_t n, uint64_t* state) noexcept nogil:
    """An index with probability proportional to exp(weights), which are overwritten by running sums."""
    cdef:
        int64_t j
        double top = weights[0], total = 0, u
    for j in range(1, n):
        top = max(top, weights[j])
    for j in range(n):
        total += exp(weights[j] - top)
        weights[j] = total
    u = uniform(state) * total
    for j in range(n - 1):
        if u < weights[j]:
            return j
    return n - 1


cdef int64_t compact(
    int32_t* histogram, int64_t n, int32_t* values, int32_t* counts, const double[:, ::1] table, double[::1] part,
) noexcept nogil:
    """Move the entries of a histogram to a list, and add them times the rows of a table to `part`; their number."""
    cdef int64_t value, j, found = 0, n_points = part.shape[0]
    cdef double count
    cdef const double* row
    for value in range(1, n):
        if histogram[value]:
            values[found], counts[found] = <int32_t>value, histogram[value]
            count, row = histogram[value], &table[value, 0]
            for j in range(n_points):
                part[j] += count * row[j]
            histogram[value] = 0
            found += 1
    return found


def sweeps(
    const int32_t[::1] words,              # IN (N,): word ids, document by document
    const int64_t[::1] offsets,            # IN (D + 1,)
    const double[::1] etas,                # IN (E,)
    const double[::1] alphas,              # IN (A,)
    const double[:, ::1] word_table,       # IN (most frequent word + 1, E): log of the rising factorials of eta
    const double[:, ::1] doc_table,        # IN (longest document + 1, A): the same for alpha
    const double[:, ::1] totals_table,     # IN (N + 1, E): the same for V eta; or empty
    const double[::1] lengths,             # IN (A,): the sum over documents of the same for K alpha
    double[:, ::1] log_zeta,               # IN (E, A); OUT if gain > 0
    double gain,                           # IN: log zeta moves with gain 1 / (gain + sweeps so far); 0: it is fixed
    int64_t n_before,                      # IN: sweeps so far
    bint flat,                             # IN: whether log zeta is constant
    int32_t[::1] topics,                   # IN/OUT (N,): z
    uint16_t[:, ::1] rows,                 # IN/OUT (V, P): m_kv, zero in the padding
    int32_t[:, ::1] long_rows,             # IN/OUT (L, P): rows of words with too many tokens for 16 bits
    const int32_t[::1] place,              # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[::1] stream,                  # IN/OUT (4,): generator
    int vectors,                           # IN: which vectors to use; the draws are the same
    double[::1] word_part,                 # IN/OUT (E,): B at every eta, of the present z
    double[::1] doc_part,                  # IN/OUT (A,): A at every alpha
    int32_t[:, ::1] at,                    # OUT (n, 2): the grid point of every sweep
    double[::1] log_joint,                 # OUT (n,): log p(w, z | h) after every sweep
    int64_t[:, ::1] totals,                # OUT (n, K): m_k after every sweep
    int32_t[:, ::1] doc_lists,             # OUT (2, n * width): distinct n_dk, and how often they occur
    int64_t[::1] doc_ends,                 # OUT (n + 1,): the list of a sweep ends there
    int32_t[:, ::1] word_lists,            # OUT (2, n * width): the same for m_kv
    int64_t[::1] word_ends,                # OUT (n + 1,)
    const int32_t[::1] stop,               # IN (1,): not zero: return early
    double[:, ::1] scratch_doubles,        # SCRATCH (2, P)
    float[:, ::1] scratch_floats,          # SCRATCH (2, P)
    int32_t[::1] scratch_counts,           # SCRATCH (P,)
    double[::1] scratch_priors,            # SCRATCH (2 K + V + E A,)
    int32_t[::1] scratch_histograms,       # SCRATCH (longest document + 1 + most frequent word + 1,): zero
):
    """Make as many sweeps as `at` has rows."""
    cdef:
        int64_t V = rows.shape[0], L = long_rows.shape[0]
        int64_t K = topic_totals.shape[0], D = offsets.shape[0] - 1, E = etas.shape[0], A = alphas.shape[0]
        int64_t s, d, j, k, e, a, most_docs = doc_table.shape[0], most_words = word_table.shape[0]
        double top, total, share
        Dense dense
        double* alpha = &scratch_priors[0]
        double* prior_totals = alpha + K
        double* weights = prior_totals + K
        double* eta = weights + E * A
        int32_t* doc_histogram = &scratch_histograms[0]
        int32_t* word_histogram = doc_histogram + most_docs
    set_rows(&dense, rows, long_rows, place, K, vectors)
    set_scratch(&dense, scratch_doubles, scratch_floats, scratch_counts)
    dense.word_prior, dense.topic_prior, dense.prior_totals = eta, NULL, prior_totals
    dense.state = &stream[0]
    doc_ends[0] = word_ends[0] = 0
    with nogil:
        for s in range(at.shape[0]):
            if stop[0]:
                break
            if flat:
                for j in range(E):
                    weights[j] = word_part[j]
                e = choose(weights, E, &stream[0])
                for j in range(A):
                    weights[j] = doc_part[j]
                a = choose(weights, A, &stream[0])
            else:
                for e in range(E):
                    for a in range(A):
                        weights[e * A + a] = word_part[e] + doc_part[a] - log_zeta[e, a]
                j = choose(weights, E * A, &stream[0])
                e, a = j // A, j % A
            at[s, 0], at[s, 1] = <int32_t>e, <int32_t>a
            for k in range(K):
                alpha[k], prior_totals[k], dense.totals[k] = alphas[a], V * etas[e], topic_totals[k]
            for j in range(V):
                eta[j] = etas[e]
            weigh_topics(&dense)
            for d in range(D):
                sweep_document(&dense, alpha, words, offsets, d, topics)
                for k in range(K):
                    if dense.counts[k]:
                        doc_histogram[dense.counts[k]] += 1
            store_totals(&dense, topic_totals)
            for j in range(V):
                for k in range(K):
                    if rows[j, k]:
                        word_histogram[rows[j, k]] += 1
            for j in range(L):
                for k in range(K):
                    if long_rows[j, k]:
                        word_histogram[long_rows[j, k]] += 1
            for j in range(A):
                doc_part[j] = -lengths[j]
            for j in range(E):
                total = 0
                for k in range(K):
                    if totals_table.shape[0] > 0:
                        total += totals_table[topic_totals[k], j]
                    else:
                        total += log_gamma_ratio(V * etas[j], topic_totals[k])
                word_part[j] = -total
            doc_ends[s + 1] = doc_ends[s] + compact(
                doc_histogram, most_docs, &doc_lists[0, 0] + doc_ends[s], &doc_lists[1, 0] + doc_ends[s],
                doc_table, doc_part,
            )
            word_ends[s + 1] = word_ends[s] + compact(
                word_histogram, most_words, &word_lists[0, 0] + word_ends[s], &word_lists[1, 0] + word_ends[s],
                word_table, word_part,
            )
            for k in range(K):
                totals[s, k] = topic_totals[k]
            log_joint[s] = word_part[e] + doc_part[a]
            if gain > 0:
                top = word_part[0] + doc_part[0] - log_zeta[0, 0]
                for e in range(E):
                    for a in range(A):
                        weights[e * A + a] = word_part[e] + doc_part[a] - log_zeta[e, a]
                        top = max(top, weights[e * A + a])
                total = 0
                for j in range(E * A):
                    weights[j] = exp(weights[j] - top)
                    total += weights[j]
                share = 1 / (gain + n_before + s + 1)
                for e in range(E):
                    for a in range(A):
                        log_zeta[e, a] += (E * A * weights[e * A + a] / total - 1) * share
