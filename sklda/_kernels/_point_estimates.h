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

/* Add share * word[k] to a[k]. */
ALWAYS_INLINE void add_word_by(const float *restrict word, double share, int64_t n, double *restrict a)
{
    for (int64_t k = 0; k < n; k++)
        a[k] += share * (double)word[k];
}

/* Add document[k] * share * word[k] to a[k]. */
ALWAYS_INLINE void add_weights_by(const double *restrict document, const float *restrict word, double share, int64_t n,
                                  double *restrict a)
{
    for (int64_t k = 0; k < n; k++)
        a[k] += document[k] * share * (double)word[k];
}

/* Add document[k] * factors[k] + own[k] to to[k]. */
ALWAYS_INLINE void add_to_float_by(const double *restrict document, const double *restrict factors,
                                   const double *restrict own, int64_t n, float *restrict to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += (float)(document[k] * factors[k] + own[k]);
}

static inline void add_to_double(const double *restrict document, const double *restrict factors,
                                 const double *restrict own, int64_t n, double *restrict to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] += document[k] * factors[k] + own[k];
}

static double sum_weights(const double *document, const float *word, int64_t n)
{
    return sum_weights_by(document, word, n);
}

static void add_word(const float *word, double share, int64_t n, double *a)
{
    add_word_by(word, share, n, a);
}

static void add_weights(const double *document, const float *word, double share, int64_t n, double *a)
{
    add_weights_by(document, word, share, n, a);
}

static void add_to_float(const double *document, const double *factors, const double *own, int64_t n, float *to)
{
    add_to_float_by(document, factors, own, n, to);
}

/* The same, bit for bit, with AVX2. */
#if defined(WIDE_VECTORS)
__attribute__((target("avx2"))) static double sum_weights_wide(const double *document, const float *word, int64_t n)
{
    return sum_weights_by(document, word, n);
}

__attribute__((target("avx2"))) static void add_word_wide(const float *word, double share, int64_t n, double *a)
{
    add_word_by(word, share, n, a);
}

__attribute__((target("avx2"))) static void add_weights_wide(const double *document, const float *word, double share,
                                                             int64_t n, double *a)
{
    add_weights_by(document, word, share, n, a);
}

__attribute__((target("avx2"))) static void add_to_float_wide(const double *document, const double *factors,
                                                              const double *own, int64_t n, float *to)
{
    add_to_float_by(document, factors, own, n, to);
}
#else
#define add_to_float_wide add_to_float
#define sum_weights_wide sum_weights
#define add_word_wide add_word
#define add_weights_wide add_weights
#endif

#endif
