from libc.stdint cimport uint64_t

cdef extern from "_gamma.h" nogil:
    ctypedef struct gamma_source:
        uint64_t[4] state
    void seed_source(uint64_t key, gamma_source* source)
    double gamma_variate(gamma_source* source, double shape)
