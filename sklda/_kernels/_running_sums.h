/* Draws from weights over a short list of topics. */
#ifndef SKLDA_RUNNING_SUMS_H
#define SKLDA_RUNNING_SUMS_H

#include <stdint.h>

/* Number of topics between two stored running sums over all topics. */
#define STRIDE 32

/* running[j] = sum of counts[i] * row[topics[i]] over i <= j, computed four at a time for a shorter chain of additions.
 * All arrays have room for n rounded up to a multiple of four; past n, counts are zero and topics are valid. */
static inline double running_sums(const double *restrict counts, const int32_t *restrict topics,
                                  const float *restrict row, int64_t n, double *restrict running)
{
    double total = 0;
    for (int64_t j = 0; j < n; j += 4) {
        double a = counts[j] * row[topics[j]], b = counts[j + 1] * row[topics[j + 1]];
        double c = counts[j + 2] * row[topics[j + 2]], d = counts[j + 3] * row[topics[j + 3]];
        running[j] = total + a;
        running[j + 1] = total + (a + b);
        running[j + 2] = total + ((a + b) + c);
        total += (a + b) + (c + d);
        running[j + 3] = total;
    }
    return total;
}

/* The number of these n running sums that are not above u, which is below the last. Groups of four come first. */
static inline int64_t reached(const double *restrict running, int64_t n, double u)
{
    int64_t fours = 0;
    for (int64_t j = 3; j < n; j += 4)
        fours += u >= running[j];
    running += 4 * fours;
    return 4 * fours + (u >= running[0]) + (u >= running[1]) + (u >= running[2]);
}

#endif
