from libc.stdint cimport uint64_t

cdef extern from "_xoshiro.h" nogil:
    double uniform(uint64_t* state)
    uint64_t mix64(uint64_t x)
    void seed_state(uint64_t key, uint64_t* state)
