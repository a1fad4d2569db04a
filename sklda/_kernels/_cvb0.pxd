from libc.stdint cimport int64_t

cdef extern from "_cvb0.h" nogil:
    ctypedef struct cvb0_document:
        float* expected
        const float* alpha
        const float* totals
        const float* least
        float* weights
        int64_t width
    void cvb0_update(
        float* own, const float* row, float* change, const cvb0_document* document, float eta, const float* etas,
        float repeats)
    void cvb0_update_wide(
        float* own, const float* row, float* change, const cvb0_document* document, float eta, const float* etas,
        float repeats)
    void add_scaled(float* a, const float* b, float share, int64_t width)
