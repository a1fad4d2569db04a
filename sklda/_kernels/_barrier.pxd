from libc.stdint cimport int32_t, int64_t

cdef extern from "_barrier.h" nogil:
    int REJECTED
    int NEXT
    int32_t load(const int32_t* p)
    bint take_task(int32_t* progress, int32_t step, int64_t task)
    bint is_last(int32_t* progress, int64_t n_tasks)
    void end_step(int32_t* progress, int32_t step)
    bint wait_for_end(const int32_t* progress, int32_t step, const int32_t* stop)
