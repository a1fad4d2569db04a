"""One turn of an exact sweep of the collapsed sampler on several threads.

In a turn, each of W workers draws the tokens of its documents in one part of the vocabulary. Workers share no documents
and no words, so that their tokens are coupled through the totals of the topics only. In one step, given all other
tokens,

    p(z)  ∝  prod_i f_i(z_i)  prod_k 1 / Gamma(c_k + sum_i a_ik + sum_v eta_kv),

where a_ik is the number of tokens of worker i in topic k, and c_k the number of tokens in topic k that no worker draws.
Worker i sweeps its tokens with constants r_jk in place of the a_jk of the other workers. The r_jk are functions of c
alone. The sweep goes forwards or backwards with probability 1/2 each; this is reversible with respect to
prod_i f_i(z_i) prod_k 1 / Gamma(c_k + a_ik + sum_(j != i) r_jk + sum_v eta_kv). The step of all workers is a
Metropolis-Hastings proposal. It is accepted with the probability that the ratio of the two distributions gives, or else
undone.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._count_rows cimport change_count
from sklda._kernels._dense cimport Dense, draw_tokens, open_document, set_rows, set_scratch, weigh_topics
from sklda._kernels._barrier cimport BARRIER, wait_for_all
from sklda._kernels._partition_steps cimport Steps, accept_step, begin_step, begin_worker, log_rise
from sklda._kernels._xoshiro cimport seed_state, uniform

# Length of the array of a barrier.
BARRIER_SIZE = BARRIER


def run(
    const int32_t[::1] words,              # IN (N,): word ids, ascending within a document
    const int64_t[:, ::1] cuts,            # IN (D, W + 1): first token of each part of the vocabulary, and the end
    const int64_t[:, ::1] edges,           # IN (W, S + 1): first document of each worker's steps, and the end
    int64_t turn,                          # IN: worker i draws part (i + turn) % W of the vocabulary
    const double[:, ::1] doc_prior,        # IN (1 or D, K): alpha
    const double[::1] word_prior,          # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,       # IN (V, P): eta when each topic has its own; empty otherwise
    const double[::1] prior_totals,        # IN (K,): sum of eta over words
    int32_t[::1] topics,                   # IN/OUT (N,): z
    uint16_t[:, ::1] rows,                 # IN/OUT (V, P): m_kv, zero in the padding
    int32_t[:, ::1] long_rows,             # IN/OUT (L, P): rows of words with too many tokens for 16 bits
    const int32_t[::1] place,              # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    int64_t[::1] topic_totals,             # IN/OUT (K,): m_k
    uint64_t[:, ::1] streams,              # IN/OUT (W, 4): the workers' generators
    uint64_t key,                          # IN: seed of the generator that accepts or rejects steps
    int64_t[::1] accepted,                 # OUT (1,): number of accepted steps
    int vectors,                           # IN: which vectors to use; the draws are the same
    int32_t[:, :, ::1] shared_before,      # SCRATCH (2, W, K): a_ik before this step and before the next
    int32_t[:, :, ::1] shared_after,       # SCRATCH (2, W, K): a_ik after it
    double[:, ::1] shared_rise,            # SCRATCH (2, W): the worker's term of the log acceptance ratio
    int32_t[:, ::1] shared_kept,           # SCRATCH (W, most tokens of a step): topics before the step
    int32_t[::1] barrier,                  # SCRATCH (BARRIER_SIZE,): zeros
    const int32_t[::1] stop,               # IN (1,): another thread may set it; if not zero, end
    int32_t n_threads,                     # IN: threads that run this at once; they share all arguments above
    int32_t thread,                        # IN: this thread does the work of workers i with i % n_threads == thread
    double[:, ::1] own_doubles,            # SCRATCH (5, P): this and the following belong to this thread
    float[:, ::1] own_floats,              # SCRATCH (2, P)
    int32_t[:, ::1] own_counts,            # SCRATCH (2, P)
):
    cdef:
        int64_t K = topic_totals.shape[0], W = edges.shape[0], n_steps = edges.shape[1] - 1
        int64_t k, worker, s, n_accepted = 0
        int32_t* now = &own_counts[1, 0]       # a_ik
        uint64_t[4] common, state
        Dense dense
        Steps steps

    if words.shape[0] == 0:
        return
    set_rows(&dense, rows, long_rows, place, K, vectors)
    set_scratch(&dense, own_doubles, own_floats, own_counts[0])
    dense.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    dense.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    steps.W, steps.K, steps.prior_totals = W, K, &prior_totals[0]
    steps.total, steps.rest, steps.share = &own_doubles[2, 0], &own_doubles[3, 0], &own_doubles[4, 0]
    dense.prior_totals, dense.state = steps.share, state
    with nogil:
        seed_state(key, common)
        for k in range(K):
            steps.total[k] = topic_totals[k]
        for worker in range(W):
            if worker % n_threads != thread:
                continue
            count_step(
                cuts, edges[worker, 0], edges[worker, 1], (worker + turn) % W, topics, &shared_before[0, worker, 0], K,
            )
        if not wait_for_all(&barrier[0], n_threads, &stop[0]):
            n_steps = 0
        for s in range(n_steps):
            begin_step(&steps, &shared_before[s & 1, 0, 0])
            for worker in range(W):
                if worker % n_threads != thread:
                    continue
                begin_worker(&steps, &shared_before[s & 1, worker, 0], now, dense.totals)
                memcpy(state, &streams[worker, 0], sizeof(state))
                sweep_step(
                    &dense, words, cuts, edges[worker, s], edges[worker, s + 1], (worker + turn) % W, doc_prior, topics,
                    &shared_kept[worker, 0],
                )
                for k in range(K):
                    now[k] = <int32_t>(dense.totals[k] - steps.rest[k])
                shared_rise[s & 1, worker] = log_rise(&steps, &shared_before[s & 1, worker, 0], now)
                memcpy(&shared_after[s & 1, worker, 0], now, K * sizeof(int32_t))
                memcpy(&streams[worker, 0], state, sizeof(state))
                if s + 1 < n_steps:
                    count_step(
                        cuts, edges[worker, s + 1], edges[worker, s + 2], (worker + turn) % W, topics,
                        &shared_before[1 - (s & 1), worker, 0], K,
                    )
            if not wait_for_all(&barrier[0], n_threads, &stop[0]):
                break
            if accept_step(&steps, &shared_rise[s & 1, 0], &shared_after[s & 1, 0, 0], common):
                n_accepted += 1
            else:
                for worker in range(W):
                    if worker % n_threads != thread:
                        continue
                    undo_step(
                        rows, long_rows, place, words, cuts, edges[worker, s], edges[worker, s + 1],
                        (worker + turn) % W, topics, &shared_kept[worker, 0],
                    )
        if thread == 0:
            accepted[0] = n_accepted
            for k in range(K):
                topic_totals[k] = <int64_t>steps.total[k]


cdef void count_step(
    const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part, const int32_t[::1] topics,
    int32_t* counts, int64_t K,
) noexcept nogil:
    """Count the topics of the tokens of a step."""
    cdef int64_t d, i
    memset(counts, 0, K * sizeof(int32_t))
    for d in range(first, last):
        for i in range(cuts[d, part], cuts[d, part + 1]):
            counts[topics[i]] += 1


cdef void sweep_step(
    Dense* dense, const int32_t[::1] words, const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part,
    const double[:, ::1] doc_prior, int32_t[::1] topics, int32_t* kept,
) noexcept nogil:
    """Draw each token of a step once. `kept` gets the topics before the step."""
    cdef:
        int64_t d, i, n, step = 1 if uniform(dense.state) < 0.5 else -1, W = cuts.shape[1] - 1
    for d in range(first, last):
        n = cuts[d, part + 1] - cuts[d, part]
        memcpy(kept, &topics[0] + cuts[d, part], n * sizeof(int32_t))
        kept += n
    weigh_topics(dense)
    d = first if step > 0 else last - 1
    while first <= d < last:
        open_document(
            dense, &doc_prior[d if doc_prior.shape[0] > 1 else 0, 0], &topics[0] + cuts[d, 0], cuts[d, W] - cuts[d, 0]
        )
        n = cuts[d, part + 1] - cuts[d, part]
        i = cuts[d, part] if step > 0 else cuts[d, part + 1] - 1
        draw_tokens(dense, &words[0], words.shape[0], i, n, step, &topics[0])
        d += step


cdef void undo_step(
    uint16_t[:, ::1] rows, int32_t[:, ::1] long_rows, const int32_t[::1] place, const int32_t[::1] words,
    const int64_t[:, ::1] cuts, int64_t first, int64_t last, int64_t part,
    int32_t[::1] topics, const int32_t* kept,
) noexcept nogil:
    """Give the tokens of a rejected step their topics before it, which are in `kept`."""
    cdef int64_t d, i
    for d in range(first, last):
        for i in range(cuts[d, part], cuts[d, part + 1]):
            change_count(rows, long_rows, place, words[i], topics[i], -1)
            change_count(rows, long_rows, place, words[i], kept[0], 1)
            topics[i] = kept[0]
            kept += 1
