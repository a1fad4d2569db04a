/* Differences of log Gamma without the rounding errors of a subtraction at large parameters. */
#ifndef SKLDA_LOG_GAMMA_H
#define SKLDA_LOG_GAMMA_H

#include <math.h>

/* From this argument on, stirling_tail is accurate to 2e-14. */
#define FEW 16

/* log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, by Stirling's series; x >= FEW */
static inline double stirling_tail(double x)
{
    double y = 1 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680)))) / x;
}

/* log(1 + x), x >= 0; the ratio corrects the rounding of 1 + x */
static inline double log_one_plus(double x)
{
    double y = 1 + x;
    return y > 1 ? log(y) * (x / (y - 1)) : x;
}

/* log Gamma(a + n) - log Gamma(a), a > 0 and n >= 0, to 1e-14 of its size or 1e-13, whichever is larger.
 *
 * For a >= FEW the difference of the two Stirling series is written out: the terms that remain, n log a and
 * a ((1 + r) log(1 + r) - r) with r = n / a, do not cancel. The recurrence raises a smaller a to FEW. For a small
 * integer n it gives the result itself, as a product of n factors. */
static inline double log_gamma_ratio(double a, double n)
{
    double above = 1, below = 1, shift = 0;
    if (!(n > 0))
        return 0;
    if (a < FEW) {
        if (n <= FEW && n == floor(n)) {
            for (int i = 0; i < (int)n; i++)
                above *= a + i;
            return log(above);
        }
        for (int i = 0; i < FEW && a < FEW; i++) {
            above *= a;
            below *= a + n;
            a += 1;
        }
        shift = log(above / below);
    }
    return shift + n * log(a) + ((a + n - 0.5) * log_one_plus(n / a) - n) + (stirling_tail(a + n) - stirling_tail(a));
}

/* From this multiple of n on, log_gamma_step needs one logarithm. */
#define FAR 32

/* log Gamma(a + after) - log Gamma(a + before), both integers >= 0.
 *
 * It is a sum of n logarithms with mean argument c. If c is far larger than n, three terms of their Taylor series at c
 * are enough: the next one is below 4e-13 n. */
static inline double log_gamma_step(double a, double before, double after)
{
    double n = fabs(after - before), low = a + fmin(before, after), c = low + (n - 1) / 2, y = 1 / (c * c), result;
    if (low >= FAR * n && n > 0)
        result = n * (log(c) - (n * n - 1) / 24 * y * (1 + (3 * n * n - 7) / 40 * y));
    else
        result = log_gamma_ratio(low, n);
    return before <= after ? result : -result;
}

#endif
