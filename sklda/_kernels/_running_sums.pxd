from libc.stdint cimport int32_t, int64_t

cdef extern from "_running_sums.h" nogil:
    int STRIDE
    double running_sums(const double* counts, const int32_t* topics, const float* row, int64_t n, double* running)
    int64_t reached(const double* running, int64_t n, double u)
