cdef extern from "_log_gamma.h" nogil:
    double log_gamma_ratio(double a, double n)
    double log_gamma_step(double a, double before, double after)
