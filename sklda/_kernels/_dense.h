/* Draws of tokens from their full conditionals, with the weights of all topics (see _collapsed.pyx).
 *
 * Weight k belongs to lane k % LANES. Weights are in single precision, and their running sums within each lane are in
 * double precision: a rare topic beside topics of large weight is drawn with its own probability. A lane is drawn from
 * the last running sums, and a topic from the running sums of its lane. */
#ifndef SKLDA_DENSE_H
#define SKLDA_DENSE_H

#include <string.h>

#include "_lanes.h"
#include "_xoshiro.h"

typedef struct {
    uint16_t *rows;             /* m_kv by word, zero in the padding (V, P) */
    int32_t *long_rows;         /* the rows of words with more tokens than 16 bits can count, in 32 bits */
    const int32_t *place;       /* index of a word's row in long_rows, or -1 (V,); NULL if no row is long */
    const double *word_prior;   /* eta of a word when topics share it */
    const float *topic_prior;   /* eta by word when each topic has its own (V, P); NULL otherwise */
    const double *prior_totals; /* sum of eta over words (K,) */
    const double *alpha;        /* of the document (K,) */
    int64_t K, P;
    int vectors;                /* instruction set, see vector_level() */
    double *totals;             /* m_k (K,); the sum of eta is kept apart, because rounding would lose a small one */
    float *inverse;             /* 1 / (m_k + sum of eta) (K,) */
    float *scale;               /* (n_dk + alpha_k) inverse_k: the weight without the factor m_kv + eta (P,) */
    int32_t *counts;            /* n_dk (P,) */
    double *running;            /* scratch (P,) */
    uint64_t *state;            /* generator */
} dense_state;

/* Sums of lanes, in the order 0, 4, 8, 12, 1, 5, ... The place of a lane has the sum of this lane and of the lanes
 * before it. The sum of all lanes follows, and then zero. */
typedef double lane_sums[LANES + 2];

ALWAYS_INLINE int32_t *long_row(const dense_state *s, int64_t word)
{
    return s->place && s->place[word] >= 0 ? s->long_rows + s->place[word] * s->P : NULL;
}

/* running[j + l] = sum of the weights of lane l up to block j. A row is in `longs`, or else in `shorts`. */
ALWAYS_INLINE void run_lanes(const uint16_t *restrict shorts, const int32_t *restrict longs, float eta,
                             const float *restrict prior, const float *restrict scale, int64_t width,
                             double *restrict running)
{
    double acc[LANES] = {0};
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float count = longs ? (float)longs[j + l] : (float)(int32_t)shorts[j + l];
            acc[l] += (double)((count + (prior ? prior[j + l] : eta)) * scale[j + l]);
            running[j + l] = acc[l];
        }
}

ALWAYS_INLINE void accumulate(const double *restrict sums, double *restrict passed)
{
    double before[4], total = 0;
    for (int b = 0; b < 4; b++)
        passed[b] = sums[b];
    for (int a = 4; a < LANES; a += 4)
        for (int b = 0; b < 4; b++)
            passed[a + b] = passed[a + b - 4] + sums[a + b];
    for (int b = 0; b < 4; b++) {
        before[b] = total;
        total += passed[LANES - 4 + b];
    }
    for (int a = 0; a < LANES; a += 4)
        for (int b = 0; b < 4; b++)
            passed[a + b] += before[b];
    passed[LANES] = total;
}

/* Number of the sums that do not exceed u. */
ALWAYS_INLINE int count_passed(const double *passed, double u)
{
    int n = 0;
    for (int l = 0; l < LANES; l++)
        n += u >= passed[l];
    return n;
}

/* The same for the running sums of one lane. */
ALWAYS_INLINE int64_t count_column(const double *column, int64_t n_blocks, double u)
{
    int64_t n = 0;
    for (int64_t j = 0; j < n_blocks; j++)
        n += u >= column[j * LANES];
    return n;
}

/* A part of a row is written as wide as it is read: processors load a vector slowly after a store to a part of it. */
ALWAYS_INLINE void put_scale(float *restrict scale, int32_t topic, float value)
{
    float *part = scale + (topic & ~3), copy[4];
    for (int l = 0; l < 4; l++)
        copy[l] = l == (topic & 3) ? value : part[l];
    memcpy(part, copy, sizeof copy);
}

ALWAYS_INLINE void add_to_row(uint16_t *restrict shorts, int32_t *restrict longs, int32_t topic, int step)
{
    uint16_t *part = shorts + (topic & ~3), copy[4];
    if (longs) {
        longs[topic] += step;
        return;
    }
    for (int l = 0; l < 4; l++)
        copy[l] = (uint16_t)(part[l] + (l == (topic & 3) ? step : 0));
    memcpy(part, copy, sizeof copy);
}

/* The first lane with a positive sum, else lane 0, which has topics in every block. */
SELDOM int some_lane(const double *sums)
{
    for (int lane = 0; lane < LANES; lane++)
        if (sums[lane] > 0)
            return lane;
    return 0;
}

#define TARGET
#define FOR_SET(name) name
#include "_dense_sweep.h"
#undef TARGET
#undef FOR_SET

#if defined(WIDE_VECTORS)
#include "_dense_x86.h"

#define TARGET AVX2
#define FOR_SET(name) name##_wide
#include "_dense_sweep.h"
#undef TARGET
#undef FOR_SET

#define TARGET AVX512
#define FOR_SET(name) name##_512
#include "_dense_sweep.h"
#undef TARGET
#undef FOR_SET

/* 0: the instruction set that the package was compiled for; 1: AVX2; 2: AVX-512. All make the same draws. */
static inline int vector_level(void)
{
    int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return __builtin_cpu_supports("avx2") ? (avx512 ? 2 : 1) : 0;
}
#else
#define sweep_tokens_wide sweep_tokens
#define sweep_tokens_512 sweep_tokens
static inline int vector_level(void) { return 0; }
#endif

/* Draw n tokens of the open document once each: the tokens first, first + step, ... A token may have no topic yet, -1.
 * The tokens of the next document probably begin at `next`: rows are fetched ahead. */
static void draw_tokens(const dense_state *s, const int32_t *words, int64_t n_words, int64_t first, int64_t n,
                        int64_t step, int64_t next, int32_t *topics)
{
    if (s->vectors >= 2)
        sweep_tokens_512(s, words, n_words, first, n, step, next, topics);
    else if (s->vectors == 1)
        sweep_tokens_wide(s, words, n_words, first, n, step, next, topics);
    else
        sweep_tokens(s, words, n_words, first, n, step, next, topics);
}

#endif
