"""Topic proportions of documents when the topics are known: CVB0, then Gibbs sweeps over z with phi fixed.

The average over sweeps, by number: 0, the full conditional of every token (CGS_p); 1, the counts of the draw
(CGS); 2, the full conditionals without their normalisation, phi_kw (n_dk + alpha_k).
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._barrier cimport load
from sklda._kernels._document cimport (
    Document, averaged_sweep, count, draw_in_lane, open_block, open_document, run_end, sweep,
)
from sklda._kernels._gamma cimport gamma_source, gamma_variate, seed_source
from sklda._kernels._lanes cimport choose_lane, lane_products, lane_table, tabulate
from sklda._kernels._soft_counts cimport TOGETHER, SoftCounts, find_soft_counts, set_scratch, set_words
from sklda._kernels._xoshiro cimport mix64, seed_state, uniform

# Rows of scratch_float.
FLOAT_ROWS = 7 + TOGETHER


cdef void draw_start(Document* doc, const SoftCounts* soft, const float* ones) noexcept nogil:
    """Draw the topic of every token from the distribution of its word; -1 if it is zero."""
    cdef:
        float[16] sums
        lane_table table
        int64_t i = 0, n = 0, end
        int lane
        double u
        const float* own
    while i < doc.n:
        end = run_end(doc, i)
        own = soft.own + n * doc.P
        lane_products(own, ones, doc.P, sums)
        tabulate(sums, &table)
        while i < end:
            doc.topics[i] = -1
            if table.total > 0:
                u = uniform(doc.state) * table.total
                lane = choose_lane(&table, sums, &u)
                doc.topics[i] = draw_in_lane(doc, own, ones, lane, u)
            i += 1
        n += 1
    count(doc)


def fold_in(
    const int32_t[::1] words,            # IN (N,): rows of word_topic; the tokens of a word follow each other
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (1 or D, K): alpha
    int64_t n_sweeps,                    # IN
    int64_t n_burn_in,                   # IN: sweeps that are not averaged
    int estimate,                        # IN: 0, 1 or 2, see above
    int64_t n_updates,                   # IN: the largest number of updates of CVB0
    double tolerance,                    # IN: they end if the change of n_dk is smaller, as a share of the tokens
    double cvb0_weight,                  # IN: number of sweeps that the result of CVB0 counts for in the mean
    const float[::1] scale,              # IN (W,): what the rows of word_topic were divided by
    double[:, ::1] expected_counts,      # OUT (D, K): mean over CVB0 and sweeps of the estimate of n_dk
    int32_t[:, ::1] scratch_tokens,      # SCRATCH (3, longest document)
    float[:, ::1] scratch_own,           # SCRATCH (most runs of a word in a document, P)
    float[:, ::1] scratch_float,         # SCRATCH (FLOAT_ROWS, P)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    cdef:
        int64_t d, k, s
        uint64_t[4] state
        float* ones = &scratch_float[3, 0]
        Document doc
        SoftCounts soft

    if words.shape[0] == 0:
        expected_counts[:, :] = 0
        return
    scratch_float[3, :] = 1
    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_lane[0])
    set_scratch(&soft, &scratch_own[0, 0], &scratch_float[5, 0], doc.P, TOGETHER)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for k in range(doc.K):
                expected_counts[d, k] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &scratch_tokens[0, 0], state, stop):
                continue
            seed_state(keys[d], state)
            set_words(&soft, &doc, &scratch_tokens[1, 0], &scratch_tokens[2, 0], &scratch_float[4, 0])
            find_soft_counts(&soft, n_updates, tolerance * doc.n, &stop[0])
            draw_start(&doc, &soft, ones)
            for s in range(n_sweeps):
                if load(&stop[0]):
                    break
                if s < n_burn_in:
                    sweep(&doc)
                else:
                    averaged_sweep(
                        &doc, estimate, &scale[0], &scratch_float[2, 0], &scratch_float[1, 0], &expected_counts[d, 0]
                    )
            for k in range(doc.K):
                expected_counts[d, k] += cvb0_weight * soft.expected[k]
                expected_counts[d, k] /= n_sweeps - n_burn_in + cvb0_weight


cdef inline void draw_theta(const Document* doc, gamma_source* source, double* variates, float* theta) noexcept nogil:
    """Draw theta from its Dirichlet given the topics of the tokens; `theta` are the (K,) results."""
    cdef:
        double total = 0, u
        int64_t k
    for k in range(doc.K):
        variates[k] = gamma_variate(source, doc.counts[k] + doc.prior[k])
        total += variates[k]
    if total == 0:
        # All parameters are very small: one topic has nearly everything.
        for k in range(doc.K):
            total += doc.counts[k] + doc.prior[k]
        u = uniform(source.state) * total
        total = 1
        for k in range(doc.K):
            variates[k] = 0
        for k in range(doc.K):
            u -= doc.counts[k] + doc.prior[k]
            if u < 0 or k == doc.K - 1:
                variates[k] = 1
                break
    for k in range(doc.K):
        theta[k] = <float>(variates[k] / total)


def draw_doc_topic(
    const int32_t[::1] words,            # IN (N,): rows of word_topic; the tokens of a word follow each other
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (1 or D, K): alpha
    int64_t n_burn_in,                   # IN: sweeps before the first draw
    int64_t n_between,                   # IN: sweeps from one draw to the next
    int64_t n_updates,                   # IN: the largest number of updates of CVB0
    double tolerance,                    # IN: they end if the change of n_dk is smaller, as a share of the tokens
    const float[::1] scale,              # IN (W,): what the rows of word_topic were divided by
    double[:, ::1] expected_counts,      # OUT (D, K): sum over draws of the full conditionals, summed over tokens
    double[:, ::1] counts,               # OUT (D, K): sum over draws of n_dk
    double[:, ::1] squares,              # OUT (D, K): sum over draws of the square of n_dk
    float[:, :, ::1] draws,              # OUT (S, D, K): theta
    int32_t[:, ::1] scratch_tokens,      # SCRATCH (3, longest document)
    float[:, ::1] scratch_own,           # SCRATCH (most runs of a word in a document, P)
    float[:, ::1] scratch_float,         # SCRATCH (FLOAT_ROWS, P)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
    double[::1] scratch_theta,           # SCRATCH (K,)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    """Draws of theta from the chain of `fold_in`; the tokens' and the proportions' streams differ."""
    cdef:
        int64_t d, k, s, _, n_draws = draws.shape[0]
        uint64_t[4] state
        float* ones = &scratch_float[3, 0]
        Document doc
        SoftCounts soft
        gamma_source source

    scratch_float[3, :] = 1
    expected_counts[:, :] = 0
    counts[:, :] = 0
    squares[:, :] = 0
    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_lane[0])
    set_scratch(&soft, &scratch_own[0, 0], &scratch_float[5, 0], doc.P, TOGETHER)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if load(&stop[0]):
                break
            seed_state(keys[d], state)
            seed_source(mix64(keys[d]), &source)
            if offsets[d] == offsets[d + 1]:
                doc.n, doc.prior = 0, &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0]
                count(&doc)
            else:
                open_document(&doc, d, offsets, words, doc_prior, &scratch_tokens[0, 0], state, stop)
                set_words(&soft, &doc, &scratch_tokens[1, 0], &scratch_tokens[2, 0], &scratch_float[4, 0])
                find_soft_counts(&soft, n_updates, tolerance * doc.n, &stop[0])
                draw_start(&doc, &soft, ones)
                for _ in range(n_burn_in):
                    sweep(&doc)
            for s in range(n_draws):
                if load(&stop[0]):
                    break
                if doc.n > 0:
                    for _ in range(n_between - 1):
                        sweep(&doc)
                    averaged_sweep(
                        &doc, 0, &scale[0], &scratch_float[2, 0], &scratch_float[1, 0], &expected_counts[d, 0]
                    )
                for k in range(doc.K):
                    counts[d, k] += doc.counts[k]
                    squares[d, k] += <double>doc.counts[k] * doc.counts[k]
                draw_theta(&doc, &source, &scratch_theta[0], &draws[s, d, 0])
