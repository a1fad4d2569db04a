/* Draws from weights over a short list of topics. */
#ifndef SKLDA_RUNNING_SUMS_H
#define SKLDA_RUNNING_SUMS_H

#include <stdint.h>

/* Topics between running sums over all of them. */
#define STRIDE 32

/* running[j] = sum of counts[i] * row[topics[i]] up to i = j; four at a time, so that no addition waits for the one
 * before. Room for n rounded up to four, counts zero there and topics valid. */
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

/* How many of those n running sums u has reached, u below the last: whole fours first. */
static inline int64_t reached(const double *restrict running, int64_t n, double u)
{
    int64_t fours = 0;
    for (int64_t j = 3; j < n; j += 4)
        fours += u >= running[j];
    running += 4 * fours;
    return 4 * fours + (u >= running[0]) + (u >= running[1]) + (u >= running[2]);
}

#endif
