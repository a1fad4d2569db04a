"""The steps of the partitioned samplers: the totals that each worker assumes, barriers, and the acceptance.

The sweep over the tokens of a step differs: see _partitioned.pyx and _word_major_partitioned.pyx.
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from sklda._kernels._barrier cimport wait_for_all
from sklda._kernels._log_gamma cimport log_gamma_step
from sklda._kernels._xoshiro cimport seed_state, uniform


cdef struct Turn:
    int64_t W
    int64_t K
    int64_t n_steps
    int32_t n_threads               # this thread does the work of workers i with i % n_threads == thread
    int32_t thread
    const int64_t* edges            # the ends of the steps of each worker (W, S + 1)
    uint64_t* streams               # generators of the workers (W, 4)
    int32_t* before                 # a_ik before this step and before the next (2, W, K)
    int32_t* after                  # a_ik after it (2, W, K)
    int32_t* alike                  # topics of tokens that no worker draws and that resemble its own (2, W, K)
    double* rises                   # the workers' terms of the log acceptance ratio (2, W)
    int32_t* barrier
    const int32_t* stop
    const double* prior_totals      # sum of eta over words (K,)
    double* total                   # m_k (K,)
    double* rest                    # c_k (K,)
    double* share                   # sum of r_jk over other workers, plus the prior's total (K,)
    double* seen                    # the counts that the worker sees: c_k + a_ik (K,)
    uint64_t[4] state               # the generator of the worker
    double n_rest                   # tokens that no worker draws in the step


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
    int32_t[:, :, ::1] before,             # SCRATCH (2, W, K)
    int32_t[:, :, ::1] after,              # SCRATCH (2, W, K)
    int32_t[:, :, ::1] alike,              # SCRATCH (2, W, K)
    double[:, ::1] rises,                  # SCRATCH (2, W)
    int32_t[::1] barrier,                  # SCRATCH (BARRIER_SIZE,): zeros
    const int32_t[::1] stop,               # IN (1,)
    int32_t n_threads,
    int32_t thread,
    double* own,                           # SCRATCH (4 P,)
    int64_t P,
) noexcept nogil:
    turn.W, turn.K, turn.n_steps = edges.shape[0], prior_totals.shape[0], edges.shape[1] - 1
    turn.n_threads, turn.thread = n_threads, thread
    turn.edges, turn.prior_totals, turn.streams = &edges[0, 0], &prior_totals[0], &streams[0, 0]
    turn.before, turn.after, turn.rises = &before[0, 0, 0], &after[0, 0, 0], &rises[0, 0]
    turn.alike = &alike[0, 0, 0]
    turn.barrier, turn.stop = &barrier[0], &stop[0]
    turn.total, turn.rest, turn.share, turn.seen = own, own + P, own + 2 * P, own + 3 * P


cdef inline void begin_step(Turn* turn, const int32_t* before) noexcept nogil:
    """`before`: a_ik of all workers (W, K)."""
    cdef int64_t k, worker
    turn.n_rest = 0
    memcpy(turn.rest, turn.total, turn.K * sizeof(double))
    for worker in range(turn.W):
        for k in range(turn.K):
            turn.rest[k] -= before[worker * turn.K + k]
    for k in range(turn.K):
        turn.n_rest += turn.rest[k]


cdef inline void begin_worker(Turn* turn, int64_t worker, const int32_t* before, const int32_t* alike) noexcept nogil:
    """Set the counts that a worker sees, and `share`. `before`: a_ik, `alike`: their like, of all workers (W, K)."""
    cdef:
        int64_t k, other, K = turn.K, n_tokens, n_alike
        double factor, of_corpus
    for k in range(K):
        turn.share[k] = turn.prior_totals[k]
        turn.seen[k] = turn.rest[k] + before[worker * K + k]
    for other in range(turn.W):
        if other == worker:
            continue
        n_tokens, n_alike = 0, 0
        for k in range(K):
            n_tokens += before[other * K + k]
            n_alike += alike[other * K + k]
        factor = n_tokens / <double>(n_alike + TOKENS_OF_CORPUS * K)
        of_corpus = TOKENS_OF_CORPUS * K / (turn.n_rest + K)
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


cdef inline bint accept_step(Turn* turn, const double* rises, const int32_t* after, double u) noexcept nogil:
    """Accept or reject the step of all workers. Every thread computes the same decision from the same numbers."""
    cdef:
        int64_t k, worker
        double log_ratio = 0
    for worker in range(turn.W):
        log_ratio += rises[worker]
        for k in range(turn.K):
            turn.rest[k] += after[worker * turn.K + k]
    for k in range(turn.K):
        if turn.rest[k] != turn.total[k]:
            log_ratio += log_gamma_step(turn.prior_totals[k], turn.rest[k], turn.total[k])
    if u < exp(log_ratio):
        memcpy(turn.total, turn.rest, turn.K * sizeof(double))
        return True
    return False


cdef inline int64_t run_turn(
    Turn* turn, void* tokens, count_tokens count, sweep_tokens sweep, sweep_tokens undo, int64_t[::1] topic_totals,
    uint64_t key,
) noexcept nogil:
    """Make all steps of a turn. Return the number of those that were accepted."""
    cdef:
        int64_t K = turn.K, W = turn.W, n_steps = turn.n_steps, k, s, worker, here, next, n_accepted = 0
        const int64_t* ends
        uint64_t[4] common
    seed_state(key, common)
    for k in range(K):
        turn.total[k] = topic_totals[k]
    # In step -1 the threads only count the tokens of the first step.
    for s in range(-1, n_steps):
        here = (s & 1) * W
        if s >= 0:
            begin_step(turn, turn.before + here * K)
        for worker in range(W):
            if worker % turn.n_threads != turn.thread:
                continue
            ends = turn.edges + worker * (n_steps + 1) + s
            if s >= 0:
                begin_worker(turn, worker, turn.before + here * K, turn.alike + here * K)
                memcpy(turn.state, turn.streams + 4 * worker, sizeof(turn.state))
                sweep(tokens, worker, ends[0], ends[1])
                memcpy(turn.streams + 4 * worker, turn.state, sizeof(turn.state))
                turn.rises[here + worker] = end_worker(
                    turn, turn.before + (here + worker) * K, turn.after + (here + worker) * K
                )
            if s + 1 < n_steps:
                next = (W - here + worker) * K
                memset(turn.before + next, 0, K * sizeof(int32_t))
                memset(turn.alike + next, 0, K * sizeof(int32_t))
                count(tokens, worker, ends[1], ends[2], turn.before + next, turn.alike + next)
        if not wait_for_all(turn.barrier, turn.n_threads, turn.stop):
            break
        if s < 0:
            continue
        if accept_step(turn, turn.rises + here, turn.after + here * K, uniform(common)):
            n_accepted += 1
            continue
        for worker in range(W):
            if worker % turn.n_threads != turn.thread:
                continue
            ends = turn.edges + worker * (n_steps + 1) + s
            undo(tokens, worker, ends[0], ends[1])
    # Every thread has the same totals: one of them stores them.
    if turn.thread == 0:
        for k in range(K):
            topic_totals[k] = <int64_t>turn.total[k]
    return n_accepted
