/* CVB0 updates of several words of a document at a time, with the topics fixed (Asuncion et al. 2009). Sums over topics
 * have a fixed order, so every instruction set gives the same results. */
#ifndef SKLDA_SOFT_COUNTS_H
#define SKLDA_SOFT_COUNTS_H

#include "_lanes.h"

/* Words that are updated together. They use the same counts, so the processor need not wait for the sum of one word
 * before it begins with the next one. */
#define TOGETHER 4

/* weights[k] = (counts[k] - own[k] + prior[k]) * row[k], and their sum */
ALWAYS_INLINE float weigh_word(const float *restrict own, const float *restrict row, const float *restrict counts,
                               const float *restrict prior, float *restrict weights, int64_t width)
{
    float acc[LANES] = {0};
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float rest = counts[j + l] - own[j + l];
            rest = rest > 0 ? rest : 0;
            weights[j + l] = (rest + prior[j + l]) * row[j + l];
            acc[l] += weights[j + l];
        }
    /* Loops of fixed length, which compilers unroll. */
    for (int l = 0; l < 8; l++)
        acc[l] += acc[l + 8];
    for (int l = 0; l < 4; l++)
        acc[l] += acc[l + 4];
    return acc[0] + acc[2] + (acc[1] + acc[3]);
}

/* Replace own by weights * factor, and move `count` tokens in `expected` accordingly. */
ALWAYS_INLINE void move_word(float *restrict own, const float *restrict weights, float factor, float count,
                             float *restrict expected, int64_t width)
{
    for (int64_t k = 0; k < width; k++) {
        float next = weights[k] * factor;
        expected[k] += count * (next - own[k]);
        own[k] = next;
    }
}

/* Replace the distributions of n <= TOGETHER words given `counts`. Distribution i is own[i * width ...], of the word
 * with the row base[rows[i] * width ...] and repeats[i] tokens. `expected`, which may be `counts`, has the counts of the
 * distributions. A distribution whose weights all underflow stays as it is. */
ALWAYS_INLINE void update_words_by(float *own, const float *base, const int32_t *rows, const int32_t *repeats,
                                   int64_t n, const float *counts, float *expected, const float *prior, float *weights,
                                   int64_t width)
{
    float totals[TOGETHER];
    for (int64_t i = 0; i < n; i++)
        totals[i] = weigh_word(own + i * width, base + rows[i] * width, counts, prior, weights + i * width, width);
    for (int64_t i = 0; i < n; i++)
        /* The inverse of a subnormal number is infinite. */
        if (totals[i] >= FLT_MIN)
            move_word(own + i * width, weights + i * width, 1 / totals[i], (float)repeats[i], expected, width);
}

static inline void update_words_shared(float *own, const float *base, const int32_t *rows, const int32_t *repeats,
                                       int64_t n, const float *counts, float *expected, const float *prior,
                                       float *weights, int64_t width)
{
    update_words_by(own, base, rows, repeats, n, counts, expected, prior, weights, width);
}

/* The same, bit for bit, with AVX2. */
#if defined(WIDE_VECTORS)
__attribute__((target("avx2"))) static void update_words_wide(float *own, const float *base, const int32_t *rows,
                                                              const int32_t *repeats, int64_t n, const float *counts,
                                                              float *expected, const float *prior, float *weights,
                                                              int64_t width)
{
    update_words_by(own, base, rows, repeats, n, counts, expected, prior, weights, width);
}
#else
#define update_words_wide update_words_shared
#endif

#endif
