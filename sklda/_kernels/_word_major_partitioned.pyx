"""One turn of an exact sweep of the collapsed sampler on several threads, word by word.

The steps, and their acceptance, are those of ``_partitioned``. The tokens of a worker are sorted by their words. A step
is a range of them, which is drawn forwards or backwards with probability 1/2 each, with the weights of ``_word_major``.
The r_jk come from the tokens of the same words that the next worker has, and that nobody draws in this turn.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sklda._kernels._dense cimport Dense, change_count, copy_row, set_rows
from sklda._kernels._partition_steps cimport Turn, run_turn, set_turn
from sklda._kernels._sparse cimport Sparse, fetch, open_word, set_scratch, weigh_topics
from sklda._kernels._sparse_draws cimport draw, move
from sklda._kernels._xoshiro cimport uniform

# Number of tokens between a prefetch and the draw that needs it.
cdef enum:
    AHEAD = 8


cdef struct Tokens:
    Sparse sparse
    Dense rows                  # m_kv; its other fields are not used
    const int64_t* offsets      # worker i has the tokens [i, v] to [i, v + 1] - 1 of word v (W, V + 1)
    int64_t V
    int64_t W
    const int32_t* documents    # (N,)
    uint16_t* topics            # (N,)
    const double* word_prior    # eta when topics share it (V,)
    const float* topic_prior    # eta when each topic has its own (V, P); NULL otherwise
    uint16_t* kept              # topics before the step (W, longest)
    int64_t longest             # most tokens of a step


def run(
    const int64_t[:, ::1] word_offsets,    # IN (W, V + 1): worker i has the tokens [i, v] to [i, v + 1] - 1 of word v
    const int32_t[::1] documents,          # IN (N,): of the tokens, worker by worker and word by word
    const int64_t[:, ::1] edges,           # IN (W, S + 1): first token of each worker's steps, and the end
    const double[::1] doc_prior,           # IN (K,): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    uint16_t[::1] topics,                  # IN/OUT (N,): z, in the order of `documents`
    const int32_t[::1] begins,             # IN (D,): this and the following as in _word_major
    uint32_t[::1] entries,                 # IN/OUT (E,)
    float[::1] excess,                     # IN: empty
    int32_t[::1] sizes,                    # IN/OUT (D,)
    uint16_t[:, ::1] rows,                 # IN/OUT (V, P): m_kv, zero in the padding
    int32_t[:, ::1] long_rows,             # IN/OUT (L, P): rows of words with too many tokens for 16 bits
    const int32_t[::1] place,              # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k; this and the following as in _partitioned
    uint64_t[:, ::1] streams,              # IN/OUT (W, 4)
    uint64_t key,                          # IN
    int64_t[::1] accepted,                 # OUT (1,)
    bint wide,                             # IN: use AVX-512; the draws are the same
    uint64_t[::1] shared_stream,           # SCRATCH (4,)
    int32_t[:, :, ::1] shared_before,      # SCRATCH (2, W, K)
    int32_t[:, ::1] shared_after,          # SCRATCH (W, K)
    int32_t[:, :, ::1] shared_alike,       # SCRATCH (2, W, K)
    double[::1] shared_rises,              # SCRATCH (W,)
    double[:, ::1] shared_totals,          # SCRATCH (2, K)
    uint16_t[:, ::1] shared_kept,          # SCRATCH (W, most tokens of a step)
    int32_t[::1] progress,                 # SCRATCH (PROGRESS_SIZE + W,): zeros
    const int32_t[::1] stop,               # IN (1,)
    int32_t n_threads,                     # IN
    int32_t thread,                        # IN
    double[::1] own_doubles,               # SCRATCH (2 P + S (LANES + 1) + longest list or P // LANES): S spans
    float[::1] own_floats,                 # SCRATCH (4 P + longest list)
    int32_t[::1] own_counts,               # SCRATCH (P,)
):
    cdef:
        int64_t P = rows.shape[1]
        Tokens tokens
        Turn steps
        Sparse* sparse = &tokens.sparse

    if documents.shape[0] == 0:
        return
    set_turn(
        &steps, edges, prior_totals, streams, shared_stream, shared_before, shared_after, shared_alike, shared_rises,
        shared_totals, progress, stop, n_threads, thread, &own_doubles[0], P,
    )
    set_rows(&tokens.rows, rows, long_rows, place, steps.K, 0)
    set_scratch(sparse, P, &own_floats[0], &own_doubles[2 * P], &own_counts[0])
    sparse.K, sparse.wide, sparse.has_lists, sparse.state = steps.K, wide, True, steps.state
    sparse.begins, sparse.entries, sparse.sizes = &begins[0], &entries[0], &sizes[0]
    sparse.excess, sparse.strength = NULL, 0
    sparse.doc_prior, sparse.prior_totals, sparse.totals = &doc_prior[0], steps.share, steps.seen
    sparse.eta, sparse.own_eta = 0, NULL
    tokens.offsets, tokens.V, tokens.W = &word_offsets[0, 0], word_offsets.shape[1] - 1, steps.W
    tokens.documents, tokens.topics = &documents[0], &topics[0]
    tokens.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    tokens.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    tokens.kept, tokens.longest = &shared_kept[0, 0], shared_kept.shape[1]
    with nogil:
        run_turn(&steps, &tokens, count_step, sweep_step, undo_step, topic_totals, key, accepted)


cdef int64_t word_of(const int64_t* offsets, int64_t V, int64_t i) noexcept nogil:
    """The word of token i: the last one that begins at or before it."""
    cdef int64_t low = 0, high = V, middle
    while high - low > 1:
        middle = (low + high) // 2
        if offsets[middle] <= i:
            low = middle
        else:
            high = middle
    return low


cdef int64_t same_place(const Tokens* tokens, int64_t worker, int64_t other, int64_t i) noexcept nogil:
    """Where another worker's tokens are as far in the vocabulary as token i, or the end, of a worker."""
    cdef:
        const int64_t* own = tokens.offsets + worker * (tokens.V + 1)
        const int64_t* others = tokens.offsets + other * (tokens.V + 1)
        int64_t v = word_of(own, tokens.V, i), n = own[v + 1] - own[v]
    return others[v] + (i - own[v]) * (others[v + 1] - others[v]) // n if n > 0 else others[v]


cdef void count_step(
    void* given, int64_t worker, int64_t first, int64_t last, int32_t* counts, int32_t* alike
) noexcept nogil:
    """Count the topics of the tokens of a step, and of the next worker's tokens of the same words."""
    cdef:
        Tokens* tokens = <Tokens*>given
        int64_t i, other = (worker + 1) % tokens.W
    for i in range(first, last):
        counts[tokens.topics[i]] += 1
    for i in range(same_place(tokens, worker, other, first), same_place(tokens, worker, other, last)):
        alike[tokens.topics[i]] += 1


cdef void sweep_step(void* given, int64_t worker, int64_t first, int64_t last) noexcept nogil:
    """Draw each token of a step once. `kept` gets the topics before the step."""
    cdef:
        Tokens* tokens = <Tokens*>given
        Sparse* sparse = &tokens.sparse
        const int64_t* offsets = tokens.offsets + worker * (tokens.V + 1)
        int64_t step = 1 if uniform(sparse.state) < 0.5 else -1, i = first if step > 0 else last - 1, v, end
        int32_t t, new
    if first >= last:
        return
    memcpy(tokens.kept + worker * tokens.longest, tokens.topics + first, (last - first) * sizeof(uint16_t))
    weigh_topics(sparse)
    v = word_of(offsets, tokens.V, i)
    while first <= i < last:
        # Words without tokens of the worker are passed over.
        while not offsets[v] <= i < offsets[v + 1]:
            v += step
        copy_row(&tokens.rows, v, sparse.counts)
        if tokens.topic_prior != NULL:
            sparse.own_eta = tokens.topic_prior + v * sparse.P
        else:
            sparse.eta = tokens.word_prior[v]
        open_word(sparse)
        # One past the last token of the word in the step, in the direction of the sweep.
        end = min(offsets[v + 1], last) if step > 0 else max(offsets[v], first) - 1
        while i != end:
            if first <= i + AHEAD * step < last:
                fetch(sparse, tokens.documents[i + AHEAD * step])
            t = tokens.topics[i]
            new = draw(sparse, tokens.documents[i], t)
            if new != t:
                tokens.topics[i] = <uint16_t>new
                change_count(&tokens.rows, v, t, -1)
                change_count(&tokens.rows, v, new, 1)
            i += step


cdef void undo_step(void* given, int64_t worker, int64_t first, int64_t last) noexcept nogil:
    """Give the tokens of a rejected step their topics before it, which are in `kept`."""
    cdef:
        Tokens* tokens = <Tokens*>given
        const int64_t* offsets = tokens.offsets + worker * (tokens.V + 1)
        const uint16_t* kept = tokens.kept + worker * tokens.longest
        int64_t i, v = word_of(offsets, tokens.V, first)
        int32_t t, old
    for i in range(first, last):
        while offsets[v + 1] <= i:
            v += 1
        t, old = tokens.topics[i], kept[i - first]
        if t != old:
            change_count(&tokens.rows, v, t, -1)
            change_count(&tokens.rows, v, old, 1)
            tokens.topics[i] = <uint16_t>old
            move(&tokens.sparse, tokens.documents[i], t, old)
