from libc.stdint cimport int32_t

cdef extern from "_meeting.h" nogil:
    int MEETING
    void meet(int32_t* meeting, int32_t n)
