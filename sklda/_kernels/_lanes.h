/* Discrete draws from K unnormalised weights without a prefix sum.
 *
 * Weight k belongs to lane k % LANES. One vectorised pass adds each lane up in single precision; a lane is drawn from
 * the LANES totals; the weights of that one lane are then formed again in double precision and walked. A rare topic in
 * a heavy lane is therefore drawn at its own rate: single precision touches the totals of the lanes only. */
#ifndef SKLDA_LANES_H
#define SKLDA_LANES_H

#include <stdint.h>

#define LANES 16

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(p) __builtin_prefetch(p)
#else
#define PREFETCH(p) ((void)(p))
#endif

/* sums[l] = sum of (counts[k] + prior) * scale[k] over the lane l */
static inline void lane_sums_shared(const int32_t *restrict counts, float prior, const float *restrict scale,
                                    int64_t width, float *restrict sums)
{
    float acc[LANES] = {0};
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++)
            acc[l] += ((float)counts[j + l] + prior) * scale[j + l];
    for (int l = 0; l < LANES; l++)
        sums[l] = acc[l];
}

/* the same with a prior of its own for every topic */
static inline void lane_sums_own(const int32_t *restrict counts, const float *restrict prior,
                                 const float *restrict scale, int64_t width, float *restrict sums)
{
    float acc[LANES] = {0};
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++)
            acc[l] += ((float)counts[j + l] + prior[j + l]) * scale[j + l];
    for (int l = 0; l < LANES; l++)
        sums[l] = acc[l];
}

/* sums[l] = sum of a[k] * b[k] over the lane l */
static inline void lane_products(const float *restrict a, const float *restrict b, int64_t width,
                                 float *restrict sums)
{
    float acc[LANES] = {0};
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++)
            acc[l] += a[j + l] * b[j + l];
    for (int l = 0; l < LANES; l++)
        sums[l] = acc[l];
}

/* soft[k] += a[k] * b[k] * share */
static inline void add_products(const float *restrict a, const float *restrict b, float share, int64_t width,
                                float *restrict soft)
{
    for (int64_t k = 0; k < width; k++)
        soft[k] += a[k] * b[k] * share;
}

/* One word of CVB0: its repeats leave the expected counts, its distribution own is formed again, and they return. */
static inline void cvb0_word(float *restrict own, const float *restrict row, float *restrict expected,
                             const float *restrict prior, float repeats, int64_t width)
{
    float acc[LANES] = {0};
    float total = 0;
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float rest = expected[j + l] - repeats * own[j + l];
            rest = rest > 0 ? rest : 0;
            float w = (rest + (repeats - 1) * own[j + l] + prior[j + l]) * row[j + l];
            expected[j + l] = rest;
            own[j + l] = w;
            acc[l] += w;
        }
    for (int l = 0; l < LANES; l++)
        total += acc[l];
    total = total > 0 ? 1 / total : 0;
    for (int64_t k = 0; k < width; k++) {
        own[k] *= total;
        expected[k] += repeats * own[k];
    }
}

static inline double lanes_total(const float *sums)
{
    double total = 0;
    for (int l = 0; l < LANES; l++)
        total += sums[l];
    return total;
}

/* The lane in which the point u of [0, total) falls, total > 0; u becomes its position there, in [0, 1). */
static inline int choose_lane(const float *sums, double *u)
{
    int lane = 0;
    while (lane < LANES - 1 && *u >= sums[lane])
        *u -= sums[lane++];
    /* rounding may carry u past the last weight */
    while (lane > 0 && sums[lane] <= 0)
        lane--;
    *u = *u / sums[lane];
    if (*u >= 1)
        *u = 1 - 0x1p-53;
    return lane;
}

/* The first of n weights, not all zero, whose running sum passes u times their sum. */
static inline int64_t walk(const double *weights, int64_t n, double u)
{
    double total = 0;
    for (int64_t j = 0; j < n; j++)
        total += weights[j];
    u *= total;
    int64_t last = 0;
    for (int64_t j = 0; j < n; j++) {
        if (weights[j] > 0) {
            last = j;
            if (u < weights[j])
                return j;
            u -= weights[j];
        }
    }
    return last;
}

#endif
