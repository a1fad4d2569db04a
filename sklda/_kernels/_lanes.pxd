from libc.stdint cimport int32_t, int64_t

cdef extern from "_lanes.h" nogil:
    int LANES
    void PREFETCH(const void* p)
    int wider_vectors()
    void lane_sums_own(const int32_t* counts, const float* prior, const float* scale, int64_t width, float* sums)
    void lane_products(const float* a, const float* b, int64_t width, float* sums)
    void add_products(const float* a, const float* b, float share, int64_t width, float* soft)
    ctypedef struct lane_table:
        double total
    void tabulate(const float* sums, lane_table* table)
    int choose_lane(const lane_table* table, const float* sums, double* u)
    int64_t search(const double* running, int64_t n, double u)
