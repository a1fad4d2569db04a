"""log Gamma(a + n) - log Gamma(a) of arrays."""
from libc.stdint cimport int64_t

from sklda._kernels._log_gamma cimport log_gamma_ratio, log_gamma_step


def log_gamma_ratios(
    const double[::1] a,      # IN (n,): positive
    const double[::1] n,      # IN (n,): not negative
    double[::1] result,       # OUT (n,)
):
    cdef int64_t i
    with nogil:
        for i in range(a.shape[0]):
            result[i] = log_gamma_ratio(a[i], n[i])


def sum_of_log_gamma_ratios(
    double a,                   # IN: positive
    const double[::1] n,        # IN (n_counts,): not negative
    const double[::1] times,    # IN (n_counts,): how often each count occurs
):
    cdef int64_t i
    cdef double total = 0
    with nogil:
        for i in range(n.shape[0]):
            total += times[i] * log_gamma_ratio(a, n[i])
    return total


def log_gamma_steps(
    const double[::1] a,          # IN (n,): positive
    const double[::1] before,     # IN (n,): integers >= 0
    const double[::1] after,      # IN (n,): likewise
    double[::1] result,           # OUT (n,): log Gamma(a + after) - log Gamma(a + before)
):
    """`log_gamma_step` of arrays, for its tests."""
    cdef int64_t i
    with nogil:
        for i in range(a.shape[0]):
            result[i] = log_gamma_step(a[i], before[i], after[i])
