/* Sums over topics of the expected counts (see _point_estimates.pyx), in double precision. Partial sums have a fixed
 * order, so every instruction set gives the same results. */
#ifndef SKLDA_POINT_ESTIMATES_H
#define SKLDA_POINT_ESTIMATES_H

#include "_conditional.h"
#include "_lanes.h"

/* Sum of document[k] * word[k]. */
ALWAYS_INLINE double sum_weights_by(const double *restrict document, const float *restrict word, int64_t n)
{
    double parts[PARTS] = {0};
    int64_t k = 0;
    for (; k + PARTS <= n; k += PARTS)
        for (int l = 0; l < PARTS; l++)
            parts[l] += document[k + l] * (double)word[k + l];
    for (; k < n; k++)
        parts[0] += document[k] * (double)word[k];
    return add_parts(parts);
}

/* Add document[k] * share * word[k] to a[k] and to b[k]. */
ALWAYS_INLINE void add_weights_by(const double *restrict document, const float *restrict word, double share, int64_t n,
                                  double *restrict a, double *restrict b)
{
    for (int64_t k = 0; k < n; k++) {
        double x = document[k] * share * (double)word[k];
        a[k] += x;
        b[k] += x;
    }
}

/* document[k] = counts[k] + alpha[k] */
static inline void set_document(const int32_t *restrict counts, const double *restrict alpha, int64_t n,
                                double *restrict document)
{
    for (int64_t k = 0; k < n; k++)
        document[k] = counts[k] + alpha[k];
}

static inline void add_to_float(const double *restrict from, int64_t n, float *restrict to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += (float)from[k];
}

static inline void add_to_double(const double *restrict from, int64_t n, double *restrict to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += from[k];
}

static double sum_weights(const double *document, const float *word, int64_t n)
{
    return sum_weights_by(document, word, n);
}

static void add_weights(const double *document, const float *word, double share, int64_t n, double *a, double *b)
{
    add_weights_by(document, word, share, n, a, b);
}

/* The same, bit for bit, with AVX2. */
#if defined(WIDE_VECTORS)
__attribute__((target("avx2"))) static double sum_weights_wide(const double *document, const float *word, int64_t n)
{
    return sum_weights_by(document, word, n);
}

__attribute__((target("avx2"))) static void add_weights_wide(const double *document, const float *word, double share,
                                                             int64_t n, double *a, double *b)
{
    add_weights_by(document, word, share, n, a, b);
}
#else
#define sum_weights_wide sum_weights
#define add_weights_wide add_weights
#endif

#endif
