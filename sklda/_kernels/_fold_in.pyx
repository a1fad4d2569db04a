"""Topic proportions of documents when the topics are known: Gibbs sweeps over z with phi fixed."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._document cimport Document, clear, draw, open_block, open_document
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
    double[:, ::1] expected_counts,      # OUT (D, K): mean over sweeps of E(n_dk), token by token
    int32_t[::1] scratch_topics,         # SCRATCH (longest document,)
    float[:, ::1] scratch_float,         # SCRATCH (2, P)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    cdef:
        int64_t d, i, k, s
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
                memset(soft, 0, doc.P * sizeof(float))
                for i in range(doc.n):
                    draw(&doc, i, soft if s >= n_burn_in else NULL)
                if s >= n_burn_in:
                    for k in range(doc.K):
                        expected_counts[d, k] += soft[k]
            for k in range(doc.K):
                expected_counts[d, k] /= n_sweeps - n_burn_in
