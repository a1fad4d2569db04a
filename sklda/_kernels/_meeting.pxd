from libc.stdint cimport int32_t

cdef extern from "_meeting.h" nogil:
    int MEETING
    int32_t look(const int32_t* p)
    bint meet(int32_t* meeting, int32_t n, const int32_t* stop)
