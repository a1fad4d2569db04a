"""The steps of the partitioned sampler: the totals that each worker assumes, the threads, and the acceptance.

_partitioned.pyx has the sweep over the tokens of a step.
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._barrier cimport REJECTED, end_step, is_last, take_task, wait_for_end
from sklda._kernels._log_gamma cimport log_gamma_step
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef struct Turn:
    int64_t W
    int64_t K
    int64_t n_steps
    int32_t n_threads
    int32_t thread
    const int64_t* edges            # the ends of the steps of each worker (W, S + 1)
    uint64_t* streams               # generators of the workers (W, 4)
    uint64_t* common                # the generator that accepts or rejects steps (4,)
    int32_t* before                 # a_ik before this step and before the next (2, W, K)
    int32_t* after                  # a_ik after it (2, W, K)
    int32_t* alike                  # topics of tokens that no worker draws and that resemble its own (2, W, K)
    double* rises                   # the workers' terms of the log acceptance ratio (W,)
    double* total                   # m_k (K,)
    double* rest                    # c_k (K,)
    int32_t* progress               # see _barrier.h
    const int32_t* stop
    const double* prior_totals      # sum of eta over words (K,)
    double* share                   # sum of r_jk over other workers, plus the prior's total (K,)
    double* seen                    # the counts that the worker sees: c_k + a_ik (K,)
    uint64_t[4] state               # the generator of the worker


# r_jk has the shares of topics among tokens that resemble those of the step, and so many of the whole corpus. Unit:
# tokens per topic. With 8, as many steps were accepted on three million tokens; on the docstrings with 100 topics and
# steps of four roots of the number of tokens, .76 rather than .85.
cdef enum:
    TOKENS_OF_CORPUS = 1


# A function of the tokens, a worker, and the first and the end of a step. `count` gets arrays of zeros to count in: the
# tokens of the step, and tokens that no worker draws in this turn and that resemble those.
ctypedef void (*count_tokens)(void*, int64_t, int64_t, int64_t, int32_t*, int32_t*) noexcept nogil
ctypedef void (*sweep_tokens)(void*, int64_t, int64_t, int64_t) noexcept nogil


cdef inline void set_turn(
    Turn* turn,
    const int64_t[:, ::1] edges,           # IN (W, S + 1)
    const double[::1] prior_totals,        # IN (K,)
    uint64_t[:, ::1] streams,              # IN/OUT (W, 4)
    uint64_t[::1] common,                  # SCRATCH (4,)
    int32_t[:, :, ::1] before,             # SCRATCH (2, W, K)
    int32_t[:, ::1] after,                 # SCRATCH (W, K)
    int32_t[:, :, ::1] alike,              # SCRATCH (2, W, K)
    double[::1] rises,                     # SCRATCH (W,)
    double[:, ::1] totals,                 # SCRATCH (2, K)
    int32_t[::1] progress,                 # SCRATCH (PROGRESS_SIZE + W,): zeros
    const int32_t[::1] stop,               # IN (1,)
    int32_t n_threads,
    int32_t thread,
    double* own,                           # SCRATCH (2 P,)
    int64_t P,
) noexcept nogil:
    turn.W, turn.K, turn.n_steps = edges.shape[0], prior_totals.shape[0], edges.shape[1] - 1
    turn.n_threads, turn.thread = n_threads, thread
    turn.edges, turn.prior_totals = &edges[0, 0], &prior_totals[0]
    turn.streams, turn.common = &streams[0, 0], &common[0]
    turn.before, turn.after, turn.alike = &before[0, 0, 0], &after[0, 0], &alike[0, 0, 0]
    turn.rises, turn.total, turn.rest = &rises[0], &totals[0, 0], &totals[1, 0]
    turn.progress, turn.stop = &progress[0], &stop[0]
    turn.share, turn.seen = own, own + P


cdef inline void begin_step(Turn* turn, const int32_t* before) noexcept nogil:
    """`before`: a_ik of all workers (W, K)."""
    cdef int64_t k, worker
    memcpy(turn.rest, turn.total, turn.K * sizeof(double))
    for worker in range(turn.W):
        for k in range(turn.K):
            turn.rest[k] -= before[worker * turn.K + k]


cdef inline void begin_worker(Turn* turn, int64_t worker, const int32_t* before, const int32_t* alike) noexcept nogil:
    """Set the counts that a worker sees, and `share`. `before`: a_ik, `alike`: their like, of all workers (W, K)."""
    cdef:
        int64_t k, other, K = turn.K, n_tokens, n_alike
        double factor, of_corpus, n_rest = 0
    for k in range(K):
        n_rest += turn.rest[k]
        turn.share[k] = turn.prior_totals[k]
        turn.seen[k] = turn.rest[k] + before[worker * K + k]
    of_corpus = TOKENS_OF_CORPUS * K / (n_rest + K)
    for other in range(turn.W):
        if other == worker:
            continue
        n_tokens, n_alike = 0, 0
        for k in range(K):
            n_tokens += before[other * K + k]
            n_alike += alike[other * K + k]
        factor = n_tokens / <double>(n_alike + TOKENS_OF_CORPUS * K)
        for k in range(K):
            # Any function of what no worker draws leaves the sampler exact.
            turn.share[k] += factor * (alike[other * K + k] + of_corpus * (turn.rest[k] + 1))


cdef inline double end_worker(Turn* turn, const int32_t* before, int32_t* after) noexcept nogil:
    """Set a_ik after the sweep of a worker. Return the worker's term of the log acceptance ratio."""
    cdef:
        int64_t k
        double result = 0
    for k in range(turn.K):
        after[k] = <int32_t>(turn.seen[k] - turn.rest[k])
        if after[k] != before[k]:
            result += log_gamma_step(turn.share[k], turn.rest[k] + before[k], turn.rest[k] + after[k])
    return result


cdef inline bint accept_step(Turn* turn) noexcept nogil:
    """Accept the step of all workers, or reject it."""
    cdef:
        int64_t k, worker
        double log_ratio = 0
    for worker in range(turn.W):
        log_ratio += turn.rises[worker]
        for k in range(turn.K):
            turn.rest[k] += turn.after[worker * turn.K + k]
    for k in range(turn.K):
        if turn.rest[k] != turn.total[k]:
            log_ratio += log_gamma_step(turn.prior_totals[k], turn.rest[k], turn.total[k])
    if uniform(turn.common) < exp(log_ratio):
        memcpy(turn.total, turn.rest, turn.K * sizeof(double))
        return True
    return False


cdef inline void run_turn(
    Turn* turn, void* tokens, count_tokens count, sweep_tokens sweep, sweep_tokens undo, int64_t[::1] topic_totals,
    uint64_t key, int64_t[::1] accepted,
) noexcept nogil:
    """Make all steps of a turn. Each step has a task for every worker.

    Step -1 only counts the tokens of the first one. A step that is rejected is undone in the next one, so there is one
    more after the last. The thread that does the last task of a step accepts or rejects it, and begins the next one.
    """
    cdef:
        int64_t K = turn.K, W = turn.W, n_steps = turn.n_steps, s, k, i, worker, own
        const int64_t* edges
        int64_t here, next          # the counts of this step, and of the next one
    for s in range(-1, n_steps + 1):
        here, next = (s & 1) * W * K, (~s & 1) * W * K
        for i in range(W):
            # A thread begins with workers of its own, whose counts are in its cache.
            worker = (i + turn.thread * W // turn.n_threads) % W
            if not take_task(turn.progress, s + 1, worker):
                continue
            edges, own = turn.edges + worker * (n_steps + 1), worker * K
            if s > 0 and turn.progress[REJECTED]:
                undo(tokens, worker, edges[s - 1], edges[s])
            if 0 <= s < n_steps:
                begin_worker(turn, worker, turn.before + here, turn.alike + here)
                memcpy(turn.state, turn.streams + 4 * worker, sizeof(turn.state))
                sweep(tokens, worker, edges[s], edges[s + 1])
                memcpy(turn.streams + 4 * worker, turn.state, sizeof(turn.state))
                turn.rises[worker] = end_worker(turn, turn.before + here + own, turn.after + own)
            if s + 1 < n_steps:
                own += next
                memset(turn.before + own, 0, K * sizeof(int32_t))
                memset(turn.alike + own, 0, K * sizeof(int32_t))
                count(tokens, worker, edges[s + 1], edges[s + 2], turn.before + own, turn.alike + own)
            if not is_last(turn.progress, W):
                continue
            if s < 0:
                seed_state(key, turn.common)
                for k in range(K):
                    turn.total[k] = topic_totals[k]
            elif s < n_steps:
                turn.progress[REJECTED] = not accept_step(turn)
                accepted[0] += not turn.progress[REJECTED]
            else:
                for k in range(K):
                    topic_totals[k] = <int64_t>turn.total[k]
            if s + 1 < n_steps:
                begin_step(turn, turn.before + next)
            end_step(turn.progress, s + 1)
        if not wait_for_end(turn.progress, s + 1, turn.stop):
            return
