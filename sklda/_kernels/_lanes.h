/* Discrete draws from K unnormalised weights without a prefix sum.
 *
 * Weight k belongs to lane k % LANES. One vectorised pass computes the sum of each lane in single precision, and a
 * lane is drawn from these sums. The weights of this lane are then computed again in double precision, and a topic is
 * drawn from their running sums. Single precision affects the sums of lanes only, so that a rare topic in a lane of
 * large weight is drawn with its own probability. */
#ifndef SKLDA_LANES_H
#define SKLDA_LANES_H

#include <float.h>
#include <stdint.h>

#define LANES 16

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(p) __builtin_prefetch(p)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define SELDOM __attribute__((noinline, cold)) static
/* Not on Windows: GCC does not align vectors of 32 bytes on its stack, and Clang does not find the processor's name. */
#if defined(__x86_64__) && !defined(_WIN32)
#define WIDE_VECTORS
#endif
#else
#define PREFETCH(p) ((void)(p))
#define ALWAYS_INLINE static inline
#define SELDOM static
#endif

#if defined(WIDE_VECTORS)
static inline int wider_vectors(void) { return __builtin_cpu_supports("avx2"); }
#else
static inline int wider_vectors(void) { return 0; }
#endif

/* sums[l] = sum of (counts[k] + prior[k]) * scale[k] over the lane l */
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

/* Running sums over the lanes as a table of 4 by 4. No chain of additions or comparisons is longer than four, and no
 * branch depends on a draw. Lane 4 a + b is row a of column b. `down` has the running sums within each column, `across`
 * the sum of the columns before each column. */
typedef struct {
    double down[LANES], across[4], total;
} lane_table;

static inline void tabulate(const float *sums, lane_table *table)
{
    double *down = table->down, *across = table->across;
    for (int b = 0; b < 4; b++) {
        down[b] = sums[b];
        down[4 + b] = down[b] + sums[4 + b];
        down[8 + b] = down[4 + b] + sums[8 + b];
        down[12 + b] = down[8 + b] + sums[12 + b];
    }
    across[0] = 0;
    for (int b = 0; b < 3; b++)
        across[b + 1] = across[b] + down[12 + b];
    table->total = across[3] + down[15];
}

/* The first lane with a positive sum, else lane 0, which has topics in every block. Not inlined, because its loads
 * would slow down the code before it. */
SELDOM int first_positive(const float *sums)
{
    for (int lane = 0; lane < LANES; lane++)
        if (sums[lane] > 0)
            return lane;
    return 0;
}

/* Index of the last of n > 0 running sums, `stride` numbers apart, that is larger than the one before it; 0 if none. */
SELDOM int64_t last_increase(const double *running, int64_t n, int64_t stride)
{
    int64_t j = n - 1;
    while (j > 0 && !(running[j * stride] > running[(j - 1) * stride]))
        j--;
    return j;
}

/* The lane that contains the point u of [0, total). u becomes the position within the lane, in [0, 1). */
static inline int choose_lane(const lane_table *table, const float *sums, double *u)
{
    const double *down = table->down, *across = table->across;
    int b = (*u >= across[1]) + (*u >= across[2]) + (*u >= across[3]);
    double v = *u - across[b];
    int a = (v >= down[b]) + (v >= down[4 + b]) + (v >= down[8 + b]);
    int lane = 4 * a + b;
    v -= a ? down[lane - 4] : 0;
    /* Rounding may move u past the last weight. A sum that is NaN is treated as zero. */
    if (!(sums[lane] > 0))
        lane = first_positive(sums);
    v /= sums[lane];
    *u = v < 1 ? v : 1 - 0x1p-53;
    return lane;
}

/* Index of the first of n > 0 running sums that exceeds u times the last; u in [0, 1). Its weight is positive if any
 * weight is. */
static inline int64_t search(const double *running, int64_t n, double u)
{
    int64_t passed = 0;
    u *= running[n - 1];
    for (int64_t j = 0; j < n; j++)
        passed += u >= running[j];
    /* No sum exceeds it if the last is zero, infinite, subnormal or NaN. */
    return passed < n ? passed : last_increase(running, n, 1);
}

#endif
