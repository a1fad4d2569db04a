"""Topic proportions of documents when the topics are known: Gibbs sweeps over z with phi fixed."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sklda._kernels._document cimport Document, count, draw
from sklda._kernels._meeting cimport look
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
    const int32_t[::1] stop,             # IN (1,): not zero: end, which another thread may ask for meanwhile
):
    cdef:
        int64_t d, i, k, s
        uint64_t[4] state
        float* soft = &scratch_float[1, 0]
        Document doc

    if words.shape[0] == 0:
        expected_counts[:, :] = 0
        return
    doc.base = &word_topic[0, 0]
    doc.K, doc.P = doc_prior.shape[1], word_topic.shape[1]
    doc.topics, doc.counts, doc.walked = &scratch_topics[0], &scratch_counts[0], &scratch_lane[0]
    doc.proportions, doc.state = &scratch_float[0, 0], state
    with nogil:
        for d in range(offsets.shape[0] - 1):
            doc.prior = &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0]
            doc.n = offsets[d + 1] - offsets[d]
            for k in range(doc.K):
                expected_counts[d, k] = 0
            if doc.n == 0:
                continue
            doc.rows = &words[offsets[d]]
            seed_state(keys[d], state)
            # In the first sweep a token has no topic yet, and is drawn given those before it.
            for i in range(doc.n):
                doc.topics[i] = -1
            count(&doc)
            for s in range(n_sweeps):
                if look(&stop[0]):
                    break
                memset(soft, 0, doc.P * sizeof(float))
                for i in range(doc.n):
                    draw(&doc, i, soft if s >= n_burn_in else NULL)
                if s >= n_burn_in:
                    for k in range(doc.K):
                        expected_counts[d, k] += soft[k]
            for k in range(doc.K):
                expected_counts[d, k] /= n_sweeps - n_burn_in
