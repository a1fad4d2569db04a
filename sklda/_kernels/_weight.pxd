"""The log weight of annealed importance sampling: changes of log rising factorials as products."""
from libc.math cimport log
from libc.stdint cimport int64_t

from sklda._kernels._document cimport rescale
from sklda._kernels._log_gamma cimport log_gamma_ratio

cdef enum:
    # Up to this many tokens a rising factorial is a product, of this many factors between two checks of its size.
    MOST_FACTORS = 64
    FACTORS = 8


cdef struct Weight:
    double result     # logarithms so far
    double above      # product whose logarithm is to be added
    double below      # product whose logarithm is to be subtracted


cdef inline double value(Weight* weight) noexcept nogil:
    return weight.result + (log(weight.above) - log(weight.below))


cdef inline void check(Weight* weight) noexcept nogil:
    cdef double subtracted = 0
    weight.above = rescale(weight.above, &weight.result)
    weight.below = rescale(weight.below, &subtracted)
    weight.result -= subtracted


cdef inline void move_prior(Weight* weight, double a, double b, int64_t n) noexcept nogil:
    """Add the change of log Gamma(a + n) - log Gamma(a) when the prior a becomes b."""
    cdef int64_t i, last
    # Products of larger priors could overflow between two checks.
    cdef double above, below, large = 1e12
    if n > MOST_FACTORS or a > large or b > large:
        weight.result += log_gamma_ratio(b, <double>n) - log_gamma_ratio(a, <double>n)
        return
    i = 0
    while i < n:
        last = min(i + FACTORS, n)
        above, below = weight.above, weight.below
        while i < last:
            above *= b + i
            below *= a + i
            i += 1
        weight.above, weight.below = above, below
        check(weight)
