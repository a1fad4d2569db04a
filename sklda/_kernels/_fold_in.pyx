"""Topic proportions of documents when the topics are known: Gibbs sweeps over z with phi fixed.

What is averaged over sweeps, by number: 0, the full conditional of every token (CGS_p); 1, the counts of the draw
(CGS); 2, the full conditionals without their normalisation, phi_kw (n_dk + alpha_k).
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._document cimport Document, averaged_sweep, clear, open_block, open_document, sweep
from sklda._kernels._barrier cimport load
from sklda._kernels._xoshiro cimport seed_state


def fold_in(
    const int32_t[::1] words,            # IN (N,): rows of word_topic
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (1 or D, K): alpha
    int64_t n_sweeps,                    # IN
    int64_t n_burn_in,                   # IN: sweeps that are not averaged
    int estimate,                        # IN: 0, 1 or 2, see above
    const float[::1] scale,              # IN (W,): what the rows of word_topic were divided by
    double[:, ::1] expected_counts,      # OUT (D, K): mean over sweeps of the estimate of n_dk
    int32_t[::1] scratch_topics,         # SCRATCH (longest document,)
    float[:, ::1] scratch_float,         # SCRATCH (3, P)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    cdef:
        int64_t d, k, s
        uint64_t[4] state
        float* soft = &scratch_float[1, 0]
        Document doc

    if words.shape[0] == 0:
        expected_counts[:, :] = 0
        return
    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0, 0], &scratch_lane[0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for k in range(doc.K):
                expected_counts[d, k] = 0
            if not open_document(&doc, d, offsets, words, doc_prior, &scratch_topics[0], state, stop):
                continue
            seed_state(keys[d], state)
            # In the first sweep each token is drawn given the topics of the tokens before it.
            clear(&doc)
            for s in range(n_sweeps):
                if load(&stop[0]):
                    break
                if s < n_burn_in:
                    sweep(&doc)
                else:
                    averaged_sweep(&doc, estimate, &scale[0], &scratch_float[2, 0], soft, &expected_counts[d, 0])
            for k in range(doc.K):
                expected_counts[d, k] /= n_sweeps - n_burn_in
