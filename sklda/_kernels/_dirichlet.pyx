"""Draw phi from its Dirichlet posterior given z: gamma variates, which are divided by their sums over words."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from sklda._kernels._count_rows cimport count_of
from sklda._kernels._gamma cimport gamma_source, gamma_variate, seed_source
from sklda._kernels._running_sums cimport STRIDE
from sklda._kernels._xoshiro cimport mix64


def draw_words(
    int64_t first,                              # IN: the words first, ..., last - 1 are drawn
    int64_t last,                               # IN
    const uint16_t[:, ::1] rows,                # IN (V, P): m_kv of words with short rows
    const int32_t[:, ::1] long_rows,            # IN (L, P): m_kv of words with long rows
    const int32_t[::1] place,                   # IN (V,): index of a word's row in long_rows, or -1; empty if L = 0
    const double[::1] word_prior,               # IN (V,): eta when topics share it; empty otherwise
    const float[:, ::1] topic_prior,            # IN (V, P): eta when each topic has its own; empty otherwise
    uint64_t key,                               # IN: seed; the stream of a word depends on it and on the word
    float[:, ::1] word_topic,                   # OUT (V, P): variates of shape m_kv + eta_kv, zero in the padding
    double[::1] sums,                           # OUT (K,): their sums over these words
):
    cdef:
        int64_t K = sums.shape[0], P = word_topic.shape[1], v, k
        bint own = topic_prior.shape[0] > 0
        double eta = 0, variate
        gamma_source source
    with nogil:
        for k in range(K):
            sums[k] = 0
        for v in range(first, last):
            seed_source(mix64(key ^ mix64(<uint64_t>v)), &source)
            if not own:
                eta = word_prior[v]
            for k in range(K):
                if own:
                    eta = topic_prior[v, k]
                variate = gamma_variate(&source, count_of(rows, long_rows, place, v, k) + eta)
                word_topic[v, k] = <float>variate
                sums[k] += variate
            for k in range(K, P):
                word_topic[v, k] = 0


def scale_words(
    int64_t first,                  # IN: the words first, ..., last - 1 are scaled
    int64_t last,                   # IN
    const float[::1] factors,       # IN (K,)
    const double[::1] weights,      # IN (K,)
    float[:, ::1] word_topic,       # IN/OUT (V, P)
    double[:, ::1] sums,            # OUT (V, S): sum of weights_k phi_kv up to every STRIDE-th topic; or (0, S)
):
    cdef:
        int64_t K = factors.shape[0], v, k
        double total
    with nogil:
        for v in range(first, last):
            for k in range(K):
                word_topic[v, k] *= factors[k]
            if sums.shape[0] > 0:
                total = 0
                for k in range(K):
                    total += weights[k] * word_topic[v, k]
                    sums[v, k // STRIDE] = total
