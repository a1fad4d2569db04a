"""One turn of an exact sweep of the collapsed sampler on several threads, word by word.

The steps, and their acceptance, are those of ``_partitioned``. The tokens of a worker are sorted by their words. A step
is a range of them, which is drawn forwards or backwards with probability 1/2 each, with the weights of ``_word_major``.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._barrier cimport wait_for_all
from sklda._kernels._lanes cimport LANES
from sklda._kernels._partition_steps cimport Steps, accept_step, begin_step, begin_worker, log_rise
from sklda._kernels._sparse cimport Sparse, fetch, open_word, weigh_topics
from sklda._kernels._sparse_draws cimport draw, move
from sklda._kernels._xoshiro cimport seed_state, uniform

# Number of tokens between a prefetch and the draw that needs it.
cdef enum:
    AHEAD = 8


cdef struct Words:
    const int64_t* offsets      # of the worker: word v has its tokens [v] to [v + 1] - 1 (V + 1,)
    int64_t V
    const int32_t* documents    # (N,)
    uint16_t* topics            # (N,)
    int32_t* rows               # m_kv (V, P)
    const double* word_prior    # eta when topics share it (V,)
    const float* topic_prior    # eta when each topic has its own (V, P); NULL otherwise


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
    int32_t[:, ::1] word_topic_counts,     # IN/OUT (V, P): m_kv, zero in the padding
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[:, ::1] streams,              # IN/OUT (W, 4): the workers' generators
    uint64_t key,                          # IN: seed of the generator that accepts or rejects steps
    int64_t[::1] accepted,                 # OUT (1,): number of accepted steps
    bint wide,                             # IN: use AVX-512; the draws are the same
    int32_t[:, :, ::1] shared_before,      # SCRATCH (2, W, K): a_ik before this step and before the next
    int32_t[:, :, ::1] shared_after,       # SCRATCH (2, W, K): a_ik after it
    double[:, ::1] shared_rise,            # SCRATCH (2, W): the worker's term of the log acceptance ratio
    uint16_t[:, ::1] shared_kept,          # SCRATCH (W, most tokens of a step): topics before the step
    int32_t[::1] barrier,                  # SCRATCH (BARRIER_SIZE,): zeros
    const int32_t[::1] stop,               # IN (1,): another thread may set it; if not zero, end
    int32_t n_threads,                     # IN: threads that run this at once; they share all arguments above
    int32_t thread,                        # IN: this thread does the work of workers i with i % n_threads == thread
    float[::1] own_floats,                 # SCRATCH (4 P + longest list): this and the following belong to this thread
    double[::1] own_doubles,               # SCRATCH (4 P + S (LANES + 1) + longest list or P // LANES): S spans
    int32_t[::1] own_counts,               # SCRATCH (P,)
):
    cdef:
        int64_t K = topic_totals.shape[0], W = edges.shape[0], n_steps = edges.shape[1] - 1
        int64_t k, worker, s, n_accepted = 0, P = word_topic_counts.shape[1]
        int32_t* now = &own_counts[0]          # a_ik
        uint64_t[4] common, state
        Sparse sparse
        Steps steps
        Words tokens

    if documents.shape[0] == 0:
        return
    steps.W, steps.K, steps.prior_totals = W, K, &prior_totals[0]
    steps.total, steps.rest, steps.share = &own_doubles[0], &own_doubles[P], &own_doubles[2 * P]
    sparse.K, sparse.P, sparse.n_spans = K, P, (P + LANES * LANES - 1) // (LANES * LANES)
    sparse.wide, sparse.has_lists, sparse.state = wide, True, state
    sparse.begins, sparse.entries, sparse.sizes = &begins[0], &entries[0], &sizes[0]
    sparse.excess, sparse.strength = NULL, 0
    sparse.doc_prior, sparse.prior_totals, sparse.totals = &doc_prior[0], steps.share, steps.share + P
    sparse.word, sparse.inverse = &own_floats[0], &own_floats[P]
    sparse.alpha, sparse.smooth = &own_floats[2 * P], &own_floats[3 * P]
    sparse.weights = &own_floats[0] + 4 * P
    sparse.eta, sparse.own_eta = 0, NULL
    sparse.blocks = sparse.totals + P
    sparse.spans = sparse.blocks + sparse.n_spans * LANES
    sparse.walked = sparse.spans + sparse.n_spans
    tokens.V, tokens.documents, tokens.topics = word_offsets.shape[1] - 1, &documents[0], &topics[0]
    tokens.rows = &word_topic_counts[0, 0]
    tokens.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    tokens.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    with nogil:
        memset(sparse.blocks, 0, sparse.n_spans * LANES * sizeof(double))
        seed_state(key, common)
        for k in range(K):
            steps.total[k] = topic_totals[k]
        for worker in range(W):
            if worker % n_threads == thread:
                count_step(topics, edges[worker, 0], edges[worker, 1], &shared_before[0, worker, 0], K)
        if not wait_for_all(&barrier[0], n_threads, &stop[0]):
            n_steps = 0
        for s in range(n_steps):
            begin_step(&steps, &shared_before[s & 1, 0, 0])
            for worker in range(W):
                if worker % n_threads != thread:
                    continue
                begin_worker(&steps, &shared_before[s & 1, worker, 0], now, sparse.totals)
                memcpy(state, &streams[worker, 0], sizeof(state))
                tokens.offsets = &word_offsets[worker, 0]
                sweep_step(&sparse, &tokens, edges[worker, s], edges[worker, s + 1], now, &shared_kept[worker, 0])
                shared_rise[s & 1, worker] = log_rise(&steps, &shared_before[s & 1, worker, 0], now)
                memcpy(&shared_after[s & 1, worker, 0], now, K * sizeof(int32_t))
                memcpy(&streams[worker, 0], state, sizeof(state))
                if s + 1 < n_steps:
                    count_step(
                        topics, edges[worker, s + 1], edges[worker, s + 2], &shared_before[1 - (s & 1), worker, 0], K,
                    )
            if not wait_for_all(&barrier[0], n_threads, &stop[0]):
                break
            if accept_step(&steps, &shared_rise[s & 1, 0], &shared_after[s & 1, 0, 0], common):
                n_accepted += 1
            else:
                for worker in range(W):
                    if worker % n_threads == thread:
                        tokens.offsets = &word_offsets[worker, 0]
                        undo_step(&sparse, &tokens, edges[worker, s], edges[worker, s + 1], &shared_kept[worker, 0])
        if thread == 0:
            accepted[0] = n_accepted
            for k in range(K):
                topic_totals[k] = <int64_t>steps.total[k]


cdef void count_step(
    const uint16_t[::1] topics, int64_t first, int64_t last, int32_t* counts, int64_t K
) noexcept nogil:
    """Count the topics of the tokens of a step."""
    cdef int64_t i
    memset(counts, 0, K * sizeof(int32_t))
    for i in range(first, last):
        counts[topics[i]] += 1


cdef int64_t word_of(Words* tokens, int64_t i) noexcept nogil:
    """The word of token i of the worker: the last one that begins at or before it."""
    cdef int64_t low = 0, high = tokens.V, middle
    while high - low > 1:
        middle = (low + high) // 2
        if tokens.offsets[middle] <= i:
            low = middle
        else:
            high = middle
    return low


cdef void sweep_step(
    Sparse* sparse, Words* tokens, int64_t first, int64_t last, int32_t* now, uint16_t* kept
) noexcept nogil:
    """Draw each token of a step once. `now` is updated; `kept` gets the topics before the step."""
    cdef:
        int64_t step = 1 if uniform(sparse.state) < 0.5 else -1, i, v, end
        int32_t t, new
    memcpy(kept, tokens.topics + first, (last - first) * sizeof(uint16_t))
    weigh_topics(sparse)
    i = first if step > 0 else last - 1
    while first <= i < last:
        v = word_of(tokens, i)
        sparse.counts = tokens.rows + v * sparse.P
        if tokens.topic_prior != NULL:
            sparse.own_eta = tokens.topic_prior + v * sparse.P
        else:
            sparse.eta = tokens.word_prior[v]
        open_word(sparse)
        # One past the last token of the word in the step, in the direction of the sweep.
        end = min(tokens.offsets[v + 1], last) if step > 0 else max(tokens.offsets[v], first) - 1
        while i != end:
            if first <= i + AHEAD * step < last:
                fetch(sparse, tokens.documents[i + AHEAD * step])
            t = tokens.topics[i]
            new = draw(sparse, tokens.documents[i], t)
            if new != t:
                tokens.topics[i] = <uint16_t>new
                now[t] -= 1
                now[new] += 1
            i += step


cdef void undo_step(Sparse* sparse, Words* tokens, int64_t first, int64_t last, const uint16_t* kept) noexcept nogil:
    """Give the tokens of a rejected step their topics before it, which are in `kept`."""
    cdef:
        int64_t i, v = word_of(tokens, first)
        int32_t t, old
    for i in range(first, last):
        while tokens.offsets[v + 1] <= i:
            v += 1
        t, old = tokens.topics[i], kept[i - first]
        if t != old:
            tokens.rows[v * sparse.P + t] -= 1
            tokens.rows[v * sparse.P + old] += 1
            tokens.topics[i] = <uint16_t>old
            move(sparse, tokens.documents[i], t, old)
