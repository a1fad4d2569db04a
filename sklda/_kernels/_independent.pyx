"""Topics of all tokens given theta and phi: draws of them, and their probability. Tokens are independent."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklda._kernels._document cimport rescale
from sklda._kernels._lanes cimport search
from sklda._kernels._xoshiro cimport uniform


def draw(
    const int32_t[::1] words,             # IN (N,)
    const int64_t[::1] offsets,           # IN (D + 1,)
    const double[:, ::1] doc_topic,       # IN (D, K): theta, positive
    const double[:, ::1] word_topic,      # IN (V, K): phi by word, positive, each row up to a factor
    int32_t[::1] topics,                  # OUT (N,)
    uint64_t[::1] stream,                 # IN/OUT (4,); empty: do not draw, the topics are given
    double[::1] running,                  # SCRATCH (K,)
):
    """Draw each token from p(z_i = k) proportional to theta_dk phi_kw; return the log probability of all topics."""
    cdef:
        int64_t K = doc_topic.shape[1], d, i
        int32_t k
        double total, result = 0, product = 1
        const double* theta
        const double* phi

    with nogil:
        for d in range(offsets.shape[0] - 1):
            theta = &doc_topic[d, 0]
            for i in range(offsets[d], offsets[d + 1]):
                phi = &word_topic[words[i], 0]
                total = 0
                for k in range(K):
                    total += theta[k] * phi[k]
                    running[k] = total
                if stream.shape[0] > 0:
                    topics[i] = <int32_t>search(&running[0], K, uniform(&stream[0]))
                k = topics[i]
                if 0 <= k < K:
                    product = rescale(product * (theta[k] * phi[k] / total), &result)
    return result + log(product)
