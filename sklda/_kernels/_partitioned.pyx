"""One turn of an exact sweep of the collapsed sampler on several threads.

In a turn, each of W workers draws the tokens of its documents in one part of the vocabulary. Workers share no documents
and no words, so that their tokens are coupled through the totals of the topics only. In one step, given all other
tokens,

    p(z)  ∝  prod_i f_i(z_i)  prod_k 1 / Gamma(c_k + sum_i a_ik + sum_v eta_kv),

where a_ik is the number of tokens of worker i in topic k, and c_k the number of tokens in topic k that no worker draws.
Worker i sweeps its tokens with constants r_jk in place of the a_jk of the other workers. The r_jk are functions of the
tokens that no worker draws: those of the same documents in the next part of the vocabulary. The sweep goes forwards or
backwards with probability 1/2 each; this is reversible with respect to
prod_i f_i(z_i) prod_k 1 / Gamma(c_k + a_ik + sum_(j != i) r_jk + sum_v eta_kv). The step of all workers is a
Metropolis-Hastings proposal. It is accepted with the probability that the ratio of the two distributions gives, or else
undone.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy

from sklda._kernels._barrier cimport NEXT
from sklda._kernels._dense cimport Dense, change_count, draw_tokens, open_document, set_rows, weigh_topics
from sklda._kernels._partition_steps cimport Turn, run_turn, set_turn
from sklda._kernels._xoshiro cimport uniform

# Length of `progress` without the workers' places.
PROGRESS_SIZE = NEXT


cdef struct Tokens:
    Dense dense
    const int32_t* words        # (N,)
    int64_t N
    const int64_t* cuts         # (D, W + 1)
    int64_t W
    int64_t turn
    const double* alpha         # rows of K
    const int32_t* row_of       # the row of each document; NULL if all have the first
    int32_t* topics             # (N,)
    int32_t* kept               # topics before the step (W, longest)
    int64_t longest             # most tokens of a step


def run(
    const int32_t[::1] words,              # IN (N,): word ids, ascending within a document
    const int64_t[:, ::1] cuts,            # IN (D, W + 1): first token of each part of the vocabulary, and the end
    const int64_t[:, ::1] edges,           # IN (W, S + 1): first document of each worker's steps, and the end
    int64_t turn,                          # IN: worker i draws part (i + turn) % W of the vocabulary
    const double[:, ::1] doc_prior,        # IN (R, K): the distinct rows of alpha
    const int32_t[::1] row_of,             # IN (D,): the row of each document; empty if all have the first
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
    int64_t[::1] accepted,                 # IN/OUT (1,): number of accepted steps
    int vectors,                           # IN: which vectors to use; the draws are the same
    uint64_t[::1] shared_stream,           # SCRATCH (4,)
    int32_t[:, :, ::1] shared_before,      # SCRATCH (2, W, K)
    int32_t[:, ::1] shared_after,          # SCRATCH (W, K)
    int32_t[:, :, ::1] shared_alike,       # SCRATCH (2, W, K)
    double[::1] shared_rises,              # SCRATCH (W,)
    double[:, ::1] shared_totals,          # SCRATCH (2, K)
    int32_t[:, ::1] shared_kept,           # SCRATCH (W, most tokens of a step): topics before the step
    int32_t[::1] progress,                 # SCRATCH (PROGRESS_SIZE + W,): zeros
    const int32_t[::1] stop,               # IN (1,): another thread may set it; if not zero, end
    int32_t n_threads,                     # IN: threads that run this at once; they share all arguments above
    int32_t thread,                        # IN: its number among the threads
    double[::1] own_doubles,               # SCRATCH (3 P,): this and the following belong to this thread
    float[::1] own_floats,                 # SCRATCH (2 P,)
    int32_t[::1] own_counts,               # SCRATCH (P,)
):
    cdef:
        int64_t K = topic_totals.shape[0], P = rows.shape[1]
        Tokens tokens
        Turn steps
        Dense* dense = &tokens.dense

    if words.shape[0] == 0:
        return
    set_turn(
        &steps, edges, prior_totals, streams, shared_stream, shared_before, shared_after, shared_alike, shared_rises,
        shared_totals, progress, stop, n_threads, thread, &own_doubles[0], P,
    )
    set_rows(dense, rows, long_rows, place, K, vectors)
    dense.word_prior = &word_prior[0] if word_prior.shape[0] > 0 else NULL
    dense.topic_prior = &topic_prior[0, 0] if topic_prior.shape[0] > 0 else NULL
    dense.prior_totals, dense.state = steps.share, steps.state
    dense.totals, dense.running = steps.seen, &own_doubles[2 * P]
    dense.scale, dense.inverse, dense.counts = &own_floats[0], &own_floats[P], &own_counts[0]
    tokens.words, tokens.N, tokens.cuts, tokens.W, tokens.turn = &words[0], words.shape[0], &cuts[0, 0], steps.W, turn
    tokens.alpha, tokens.row_of = &doc_prior[0, 0], &row_of[0] if row_of.shape[0] > 0 else NULL
    tokens.topics, tokens.kept, tokens.longest = &topics[0], &shared_kept[0, 0], shared_kept.shape[1]
    with nogil:
        run_turn(&steps, &tokens, count_step, sweep_step, undo_step, topic_totals, key, accepted)


cdef const int64_t* part_of(const Tokens* tokens, int64_t worker, int64_t d) noexcept nogil:
    """The first token of document d in the part of the vocabulary that the worker draws, and the end."""
    return tokens.cuts + d * (tokens.W + 1) + (worker + tokens.turn) % tokens.W


cdef void count_step(
    void* given, int64_t worker, int64_t first, int64_t last, int32_t* counts, int32_t* alike
) noexcept nogil:
    """Count topics: of the tokens of a step, and of the same documents' tokens in the next part of the vocabulary."""
    cdef:
        Tokens* tokens = <Tokens*>given
        int64_t d, i
        const int64_t* part
    for d in range(first, last):
        part = part_of(tokens, worker, d)
        for i in range(part[0], part[1]):
            counts[tokens.topics[i]] += 1
        part = part_of(tokens, worker + 1, d)
        for i in range(part[0], part[1]):
            alike[tokens.topics[i]] += 1


cdef void sweep_step(void* given, int64_t worker, int64_t first, int64_t last) noexcept nogil:
    """Draw each token of a step once. `kept` gets the topics before the step."""
    cdef:
        Tokens* tokens = <Tokens*>given
        int64_t d, n, row, step = 1 if uniform(tokens.dense.state) < 0.5 else -1, next
        int32_t* kept = tokens.kept + worker * tokens.longest
        const int64_t* cuts
        const int64_t* part
    for d in range(first, last):
        part = part_of(tokens, worker, d)
        n = part[1] - part[0]
        memcpy(kept, tokens.topics + part[0], n * sizeof(int32_t))
        kept += n
    weigh_topics(&tokens.dense)
    d = first if step > 0 else last - 1
    while first <= d < last:
        cuts, part = tokens.cuts + d * (tokens.W + 1), part_of(tokens, worker, d)
        n = part[1] - part[0]
        if n > 0:
            # The last document of a step has no next one: its own first token is as good.
            next = part_of(tokens, worker, d + step if first <= d + step < last else d)[0 if step > 0 else 1]
            row = tokens.row_of[d] if tokens.row_of != NULL else 0
            open_document(
                &tokens.dense, tokens.alpha + row * tokens.dense.K, tokens.topics + cuts[0], cuts[tokens.W] - cuts[0]
            )
            draw_tokens(
                &tokens.dense, tokens.words, tokens.N, part[0] if step > 0 else part[1] - 1, n, step,
                next if step > 0 else next - 1, tokens.topics,
            )
        d += step


cdef void undo_step(void* given, int64_t worker, int64_t first, int64_t last) noexcept nogil:
    """Give the tokens of a rejected step their topics before it, which are in `kept`."""
    cdef:
        Tokens* tokens = <Tokens*>given
        int64_t d, i
        const int32_t* kept = tokens.kept + worker * tokens.longest
        const int64_t* part
    for d in range(first, last):
        part = part_of(tokens, worker, d)
        for i in range(part[0], part[1]):
            change_count(&tokens.dense, tokens.words[i], tokens.topics[i], -1)
            change_count(&tokens.dense, tokens.words[i], kept[0], 1)
            tokens.topics[i] = kept[0]
            kept += 1
