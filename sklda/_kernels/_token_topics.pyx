"""Topics of the tokens of documents when the topics are known: the last state of Gibbs sweeps over z with phi fixed."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._barrier cimport load
from sklda._kernels._document cimport Document, clear, open_block, open_document, sweep
from sklda._kernels._xoshiro cimport seed_state


def draw_topics(
    const int32_t[::1] words,            # IN (N,): rows of word_topic
    const int64_t[::1] offsets,          # IN (D + 1,)
    const uint64_t[::1] keys,            # IN (D,): each document's own seed
    const float[:, ::1] word_topic,      # IN (W, P): phi by word, each row up to a factor, zero in the padding
    const double[:, ::1] doc_prior,      # IN (1 or D, K): alpha
    int64_t n_sweeps,                    # IN
    int32_t[::1] topics,                 # OUT (N,): -1 for a word that no topic has
    float[::1] scratch_float,            # SCRATCH (P,)
    int32_t[::1] scratch_counts,         # SCRATCH (P,)
    double[::1] scratch_lane,            # SCRATCH (P // LANES,)
    const int32_t[::1] stop,             # IN (1,): another thread may set it; if not zero, end
):
    cdef:
        int64_t d, _
        uint64_t[4] state
        Document doc

    if words.shape[0] == 0:
        return
    open_block(&doc, word_topic, doc_prior, scratch_counts, &scratch_float[0], &scratch_lane[0])
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if offsets[d + 1] == offsets[d]:
                continue
            if not open_document(&doc, d, offsets, words, doc_prior, &topics[offsets[d]], state, stop):
                break
            seed_state(keys[d], state)
            # In the first sweep each token is drawn given the topics of the tokens before it.
            clear(&doc)
            for _ in range(n_sweeps):
                if load(&stop[0]):
                    break
                sweep(&doc)
