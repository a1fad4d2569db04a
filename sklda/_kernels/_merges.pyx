"""Change of the Dirichlet terms of the log joint when two topics are merged."""
from libc.stdint cimport int32_t, int64_t

from sklda._kernels._log_gamma cimport log_gamma_ratio


def pair_gains(
    const int32_t[:, ::1] counts,       # IN (n, at least K): n_dk of documents, or m_kv of words
    const double[::1] prior,            # IN (n,): Dirichlet parameter in each row, the same for all topics
    double[:, ::1] gains,               # IN/OUT (K, K): added to above the diagonal
    int32_t[::1] scratch_present,       # SCRATCH (K,)
    double[::1] scratch_double,         # SCRATCH (K,)
):
    """Add sum over rows of L(n_i + n_j) - L(n_i) - L(n_j), where L(n) = log Gamma(n + prior) - log Gamma(prior).

    A row in which one of the two topics does not occur adds nothing.
    """
    cdef:
        int64_t row, k, i, j, n_present
        int32_t K = <int32_t>gains.shape[0]
        int32_t* present = &scratch_present[0]
        double* alone = &scratch_double[0]
    with nogil:
        for row in range(counts.shape[0]):
            n_present = 0
            for k in range(K):
                if counts[row, k] > 0:
                    present[n_present] = <int32_t>k
                    alone[n_present] = log_gamma_ratio(prior[row], counts[row, k])
                    n_present += 1
            for i in range(n_present):
                for j in range(i + 1, n_present):
                    gains[present[i], present[j]] += (
                        log_gamma_ratio(prior[row], <double>counts[row, present[i]] + counts[row, present[j]])
                        - alone[i] - alone[j]
                    )
