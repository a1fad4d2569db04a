from libc.stdint cimport int32_t

cdef extern from "_barrier.h" nogil:
    int BARRIER
    int32_t load(const int32_t* p)
    bint wait_for_all(int32_t* barrier, int32_t n, const int32_t* stop)
