"""Likelihood of documents word by word, phi fixed: left-to-right, and a particle filter."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from sklda._kernels._document cimport Document, count, draw, open_block, open_document, sweep
from sklda._kernels._barrier cimport load
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef void shuffle(int32_t* rows, const int32_t* source, int64_t n, uint64_t* state) noexcept nogil:
    """Copy source to rows in random order."""
    cdef int64_t i, j
    for i in range(n):
        j = <int64_t>(uniform(state) * (i + 1))
        rows[i] = rows[j]
        rows[j] = source[i]


cdef double open_shuffled(Document* doc, uint64_t key, int32_t* rows) noexcept nogil:
    """Put the tokens in random order into rows, and start with none of them; the sum of alpha."""
    cdef:
        int64_t k
        double prior_total = 0
    seed_state(key, doc.state)
    shuffle(rows, doc.rows, doc.n, doc.state)
    doc.rows, doc.n = rows, 0
    for k in range(doc.K):
        prior_total += doc.prior[k]
    return prior_total


def left_to_right(
    const int32_t[::1] words,             # IN (N,): rows of word_topic; every word has a topic of positive weight
    const int64_t[::1] offsets,           # IN (D + 1,)
    const uint64_t[::1] keys,             # IN (D,): each document's own seed
    const float[:, ::1] word_topic,       # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    double[::1] log_weights,              # OUT (D,): log of an unbiased estimate
    int32_t[:, ::1] scratch_token,        # SCRATCH (2, longest document)
    float[:, ::1] scratch_float,          # SCRATCH (1, P)
    int32_t[::1] scratch_counts,          # SCRATCH (P,)
    double[::1] scratch_lane,             # SCRATCH (P // LANES,)
    const int32_t[::1] stop,              # IN (1,): another thread may set it; if not zero, end
):
    """One particle (Wallach et al. 2009, algorithm 3, with Buntine 2009).

    Tokens come in random order. Before each token all earlier tokens are drawn again.
    """
    cdef:
        int64_t d, i, n
        double prior_total, log_weight
        uint64_t[4] state
        Document doc

    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_lane[0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &scratch_token[1, 0], state, stop):
                continue
            n = doc.n
            prior_total = open_shuffled(&doc, keys[d], &scratch_token[0, 0])
            count(&doc)
            log_weight = 0
            for i in range(n):
                if load(&stop[0]):
                    break
                sweep(&doc)
                doc.topics[i] = -1
                log_weight += log(draw(&doc, i, NULL) / (prior_total + i))
                doc.n = i + 1
            log_weights[d] = log_weight


def particle_filter(
    const int32_t[::1] words,             # IN (N,): rows of word_topic; every word has a topic of positive weight
    const int64_t[::1] offsets,           # IN (D + 1,)
    const uint64_t[::1] keys,             # IN (D,): each document's own seed
    const float[:, ::1] word_topic,       # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,       # IN (1 or D, K): alpha
    double[::1] log_weights,              # OUT (D,): log of an unbiased estimate
    int32_t[::1] scratch_rows,            # SCRATCH (longest document,)
    int32_t[:, :, ::1] scratch_topics,    # SCRATCH (2, particles, longest document)
    float[:, ::1] scratch_float,          # SCRATCH (particles, P)
    int32_t[:, ::1] scratch_counts,       # SCRATCH (particles, P)
    double[::1] scratch_lane,             # SCRATCH (P // LANES,)
    double[::1] weights,                  # SCRATCH (particles,)
    const int32_t[::1] stop,              # IN (1,): another thread may set it; if not zero, end
):
    """Each particle has topics z of the tokens so far. When the effective number is below half, resample and sweep.

    Tokens come in random order. The product of mean weights is unbiased for any number of particles.
    """
    cdef:
        int64_t d, i, j, m, n, n_particles = weights.shape[0]
        int64_t now = 0
        double prior_total, log_weight, total, squares, point
        uint64_t[4] state
        Document doc

    open_block(&doc, word_topic, doc_prior, scratch_counts[0], &scratch_float[0, 0], &scratch_lane[0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            log_weights[d] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &scratch_topics[now, 0, 0], state, stop):
                continue
            n = doc.n
            prior_total = open_shuffled(&doc, keys[d], &scratch_rows[0])
            for j in range(n_particles):
                weights[j] = 1.0 / n_particles
                doc.counts, doc.proportions = &scratch_counts[j, 0], &scratch_float[j, 0]
                doc.topics = &scratch_topics[now, j, 0]
                count(&doc)
            log_weight = 0
            for i in range(n):
                if load(&stop[0]):
                    break
                total = 0
                for j in range(n_particles):
                    doc.counts, doc.proportions = &scratch_counts[j, 0], &scratch_float[j, 0]
                    doc.topics = &scratch_topics[now, j, 0]
                    doc.topics[i] = -1
                    weights[j] *= draw(&doc, i, NULL) / (prior_total + i)
                    total += weights[j]
                log_weight += log(total)
                squares = 0
                for j in range(n_particles):
                    weights[j] /= total
                    squares += weights[j] * weights[j]
                doc.n = i + 1
                if 1 / squares < 0.5 * n_particles and i < n - 1:
                    # Systematic resampling: one uniform number for all particles.
                    point = uniform(state)
                    m = 0
                    total = weights[0]
                    for j in range(n_particles):
                        while m < n_particles - 1 and total * n_particles < j + point:
                            m += 1
                            total += weights[m]
                        memcpy(&scratch_topics[1 - now, j, 0], &scratch_topics[now, m, 0], doc.n * sizeof(int32_t))
                    now = 1 - now
                    for j in range(n_particles):
                        weights[j] = 1.0 / n_particles
                        doc.counts, doc.proportions = &scratch_counts[j, 0], &scratch_float[j, 0]
                        doc.topics = &scratch_topics[now, j, 0]
                        count(&doc)
                        sweep(&doc)
            log_weights[d] = log_weight
