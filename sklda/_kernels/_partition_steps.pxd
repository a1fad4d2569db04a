"""Steps of the partitioned sampler: the totals that each worker assumes, and the acceptance (see _partitioned.pyx)."""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._log_gamma cimport log_gamma_step
from sklda._kernels._xoshiro cimport uniform


cdef struct Steps:
    int64_t W
    int64_t K
    const double* prior_totals      # sum of eta over words (K,)
    double* total                   # m_k (K,)
    double* rest                    # c_k (K,)
    double* share                   # sum of r_jk over other workers, plus the prior's total (K,)
    int64_t n_all                   # tokens of the step, of all workers
    double n_rest                   # the other tokens


cdef inline void begin_step(Steps* steps, const int32_t* before) noexcept nogil:
    """`before`: a_ik of all workers (W, K)."""
    cdef int64_t k, worker
    steps.n_all, steps.n_rest = 0, 0
    for k in range(steps.K):
        steps.rest[k] = steps.total[k]
        for worker in range(steps.W):
            steps.rest[k] -= before[worker * steps.K + k]
        steps.n_all += <int64_t>(steps.total[k] - steps.rest[k])
        steps.n_rest += steps.rest[k]


cdef inline void begin_worker(Steps* steps, const int32_t* before, int32_t* now, double* totals) noexcept nogil:
    """Set `now` to a_ik of a worker, `totals` to the counts that it sees, and `share`."""
    cdef:
        int64_t k
        double others = steps.n_all
    for k in range(steps.K):
        now[k] = before[k]
        others -= now[k]
    for k in range(steps.K):
        # Any function of c leaves the sampler exact.
        steps.share[k] = others * (steps.rest[k] + 1) / (steps.n_rest + steps.K) + steps.prior_totals[k]
        totals[k] = steps.rest[k] + now[k]


cdef inline double log_rise(const Steps* steps, const int32_t* before, const int32_t* now) noexcept nogil:
    """The worker's term of the log acceptance ratio."""
    cdef:
        int64_t k
        double result = 0
    for k in range(steps.K):
        if now[k] != before[k]:
            result += log_gamma_step(steps.share[k], steps.rest[k] + before[k], steps.rest[k] + now[k])
    return result


cdef inline bint accept_step(
    Steps* steps, const double* rises, const int32_t* after, uint64_t* state
) noexcept nogil:
    """Accept or reject the step of all workers. Every thread computes the same decision from the same numbers."""
    cdef:
        int64_t k, worker
        double log_ratio = 0
    for worker in range(steps.W):
        log_ratio += rises[worker]
    for k in range(steps.K):
        for worker in range(steps.W):
            steps.rest[k] += after[worker * steps.K + k]
        if steps.rest[k] != steps.total[k]:
            log_ratio += log_gamma_step(steps.prior_totals[k], steps.rest[k], steps.total[k])
    if uniform(state) < exp(log_ratio):
        for k in range(steps.K):
            steps.total[k] = steps.rest[k]
        return True
    return False
