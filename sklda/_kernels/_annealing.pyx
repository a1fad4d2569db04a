"""Annealed importance sampling of the topics of documents, phi fixed: log weights whose exponentials are unbiased.

A run draws z from a distribution that can be sampled, and moves through distributions f_0, ..., f_R by Gibbs sweeps.
Before each move it adds log f_(r + 1)(z) - log f_r(z) to its log weight (Neal 2001; Foulds & Smyth 2014, equation 1).
"""
from libc.math cimport fabs, log, pow
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._document cimport (
    Document, clear, count, draw, log_topics, log_words, open_block, open_document, sweep,
)
from sklda._kernels._barrier cimport load
from sklda._kernels._soft_counts cimport TOGETHER, SoftCounts, find_soft_counts, set_scratch, set_words
from sklda._kernels._xoshiro cimport seed_state

# Rows of scratch_float in `guided`.
GUIDE_ROWS = 4 + TOGETHER


def guided(
    const int32_t[::1] words,             # IN (N,): rows of word_topic; every word has a topic of positive weight
    const int64_t[::1] offsets,           # IN (D + 1,)
    const uint64_t[::1] keys,             # IN (D,): each document's own seed
    const float[:, ::1] word_topic,       # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    const double[:, ::1] strengths,       # IN (1 or D, R): c, descending to the last before zero
    int64_t n_guide,                      # IN: CVB0 iterations that compute a
    int32_t[::1] topics,                  # OUT (N,): z at the end of the path
    uint64_t[:, ::1] streams,             # OUT (D, 4): generators at the end
    double[::1] log_weights,              # OUT (D,): log of an unbiased estimate of sum_z f_0(z)
    float[:, ::1] scratch_own,            # SCRATCH (most distinct words of a document, P)
    int32_t[:, ::1] scratch_words,        # SCRATCH (2, most distinct words)
    float[:, ::1] scratch_float,          # SCRATCH (GUIDE_ROWS, P)
    int32_t[::1] scratch_counts,          # SCRATCH (P,)
    double[:, ::1] scratch_double,        # SCRATCH (3, P)
    const int32_t[::1] stop,              # IN (1,): another thread may set it; if not zero, end
):
    """f_c(z) = p(z, w | theta ~ Dir(alpha + c a)), a = E(n_d) + alpha; at c = infinity tokens are independent."""
    cdef:
        int64_t d, i, k, r, row
        double a_total, log_weight
        double* guide = &scratch_double[0, 0]
        double* prior = &scratch_double[1, 0]
        const double* alpha
        Document doc
        SoftCounts soft

    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_double[2, 0])
    set_scratch(&soft, &scratch_own[0, 0], &scratch_float[2, 0], doc.P, TOGETHER)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &topics[0] + offsets[d], &streams[d, 0], stop):
                continue
            alpha = doc.prior
            seed_state(keys[d], doc.state)
            clear(&doc)
            set_words(&soft, &doc, &scratch_words[0, 0], &scratch_words[1, 0], &scratch_float[1, 0])
            find_soft_counts(&soft, n_guide, 0, &stop[0])
            a_total = 0
            for k in range(doc.K):
                guide[k] = soft.expected[k] + alpha[k]
                a_total += guide[k]
            # Tokens are independent in f_0: the proportions stay fixed.
            log_weight = 0
            doc.prior = guide
            for k in range(doc.K):
                doc.proportions[k] = <float>guide[k]
            for i in range(doc.n):
                log_weight += log(draw(&doc, i, NULL) / a_total)
                k = doc.topics[i]
                if k >= 0:
                    doc.proportions[k] = <float>guide[k]
            for k in range(doc.K):
                if doc.counts[k] > 0:
                    log_weight -= doc.counts[k] * log(guide[k] / a_total)
            doc.prior = prior
            row = d if strengths.shape[0] > 1 else 0
            for r in range(strengths.shape[1]):
                if load(&stop[0]):
                    break
                for k in range(doc.K):
                    prior[k] = alpha[k] + strengths[row, r] * guide[k]
                    doc.proportions[k] = <float>(doc.counts[k] + prior[k])
                log_weight += log_topics(&doc, prior)
                sweep(&doc)
                log_weight -= log_topics(&doc, prior)
            log_weights[d] = log_weight + log_topics(&doc, alpha)


def between_models(
    const int32_t[::1] words,             # IN (N,): rows of first and last
    const int64_t[::1] offsets,           # IN (D + 1,)
    const float[:, ::1] first,            # IN (W, P): word weights at the start of the path, zero in the padding
    const float[:, ::1] last,             # IN (W, P): and at its end
    const double[:, ::1] first_prior,     # IN (1 or D, K): alpha at the start
    const double[:, ::1] last_prior,      # IN (1 or D, K): and at its end
    const double[::1] positions,          # IN (R,): ascending in (0, 1], the last is 1
    bint geometric,                       # IN: first^(1 - s) last^s rather than (1 - s) first + s last; positions
                                          #     whose second differences are constant
    int64_t n_burn_in,                    # IN: sweeps at the start before the first weight
    int32_t[::1] topics,                  # IN/OUT (N,): z; -1 where a token has none yet
    uint64_t[:, ::1] streams,             # IN/OUT (D, 4): generators
    double[::1] log_weights,              # IN/OUT (D,): increments are added
    float[:, ::1] scratch_rows,           # SCRATCH (most distinct words of a document, P)
    double[:, :, ::1] scratch_powers,     # SCRATCH (3, most distinct words, P); (3, 0, P) unless geometric
    float[:, ::1] scratch_float,          # SCRATCH (1, P)
    int32_t[::1] scratch_local,           # SCRATCH (longest document,)
    int32_t[::1] scratch_counts,          # SCRATCH (P,)
    double[:, ::1] scratch_double,        # SCRATCH (2, P)
    const int32_t[::1] stop,              # IN (1,): another thread may set it; if not zero, end
):
    """From one model to another; alpha always moves on the straight line (Foulds & Smyth 2014, equations 5 and 7)."""
    cdef:
        int64_t d, i, k, r, _r, u, n_rows, R = positions.shape[0]
        int32_t word
        double s, step, bend, ratio, log_weight
        float lo, hi
        const float* a
        const float* b
        const double* alpha0
        const double* alpha1
        float* rows = &scratch_rows[0, 0]
        double* prior = &scratch_double[0, 0]
        Document doc

    # The steps between positions change by a constant, bend: powers of the ratio follow by multiplication.
    step = positions[0] if R > 0 else 1
    bend = positions[1] - 2 * positions[0] if R > 1 else 0
    if fabs(bend) < 1e-9 * step:
        bend = 0
    open_block(&doc, first, first_prior, scratch_counts, &scratch_float[0, 0], &scratch_double[1, 0])
    doc.base = rows
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if not open_document(&doc, d, offsets, words, first_prior, &topics[0] + offsets[d], &streams[d, 0], stop):
                continue
            alpha0 = doc.prior
            alpha1 = &last_prior[d if last_prior.shape[0] > 1 else 0, 0]
            doc.rows, doc.prior = &scratch_local[0], prior
            n_rows = 0
            for i in range(doc.n):
                word = words[offsets[d] + i]
                if i == 0 or word != words[offsets[d] + i - 1]:
                    a, b = &first[word, 0], &last[word, 0]
                    for k in range(doc.P):
                        rows[n_rows * doc.P + k] = a[k]
                        if geometric:
                            scratch_powers[0, n_rows, k] = a[k]
                            ratio = <double>b[k] / a[k] if a[k] > 0 else 0
                            scratch_powers[1, n_rows, k] = pow(ratio, step)
                            scratch_powers[2, n_rows, k] = pow(ratio, bend) if bend != 0 and ratio > 0 else 1
                    n_rows += 1
                scratch_local[i] = <int32_t>(n_rows - 1)
            for k in range(doc.K):
                prior[k] = alpha0[k]
            count(&doc)
            for _r in range(n_burn_in):
                if load(&stop[0]):
                    break
                sweep(&doc)
            log_weight = 0
            for r in range(R):
                if load(&stop[0]):
                    break
                s = positions[r]
                log_weight -= log_words(&doc) + log_topics(&doc, prior)
                u = -1
                for i in range(doc.n):
                    if scratch_local[i] == u:
                        continue
                    u = scratch_local[i]
                    word = words[offsets[d] + i]
                    a, b = &first[word, 0], &last[word, 0]
                    if r == R - 1:
                        for k in range(doc.P):
                            rows[u * doc.P + k] = b[k]
                    elif geometric:
                        for k in range(doc.P):
                            scratch_powers[0, u, k] *= scratch_powers[1, u, k]
                            scratch_powers[1, u, k] *= scratch_powers[2, u, k]
                            rows[u * doc.P + k] = <float>scratch_powers[0, u, k]
                    else:
                        lo, hi = <float>(1 - s), <float>s
                        for k in range(doc.P):
                            rows[u * doc.P + k] = lo * a[k] + hi * b[k]
                for k in range(doc.K):
                    prior[k] = (1 - s) * alpha0[k] + s * alpha1[k]
                    doc.proportions[k] = <float>(doc.counts[k] + prior[k])
                log_weight += log_words(&doc) + log_topics(&doc, prior)
                if r < R - 1:
                    sweep(&doc)
            log_weights[d] += log_weight
