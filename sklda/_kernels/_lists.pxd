from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from "_lists.h" nogil:
    uint32_t TOPIC(uint32_t entry)
    uint32_t COUNT(uint32_t entry)
    int very_wide_vectors()
    int64_t list_weights(const uint32_t* list, int64_t n, int without, const float* word, float* weights, float* sums)
    int64_t list_weights_512(
        const uint32_t* list, int64_t n, int without, const float* word, float* weights, float* sums)
    void word_row(const int32_t* counts, float prior, const float* inverse, const float* alpha, int64_t width,
                  float* word, float* smooth, double* blocks)
    void word_row_512(const int32_t* counts, float prior, const float* inverse, const float* alpha, int64_t width,
                      float* word, float* smooth, double* blocks)
    int64_t list_find(const uint32_t* list, int64_t n, uint32_t topic)
