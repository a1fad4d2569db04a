/* Loops over topics in double precision, with explicit partial sums, so that compilers vectorise them. */
#ifndef SKLDA_CONDITIONAL_H
#define SKLDA_CONDITIONAL_H

#include <stdint.h>

#define PARTS 8

static inline double add_parts(const double *parts)
{
    return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

/* weights[k] = (counts[k] + alpha[k]) * (row[k] + eta) * inverse[k]; returns their sum. */
static inline double weights_shared(const int32_t *restrict counts, const double *restrict alpha,
                                    const int32_t *restrict row, double eta, const double *restrict inverse,
                                    int64_t n, double *restrict weights)
{
    double parts[PARTS] = {0};
    int64_t k = 0;
    for (; k + PARTS <= n; k += PARTS)
        for (int l = 0; l < PARTS; l++) {
            double w = (counts[k + l] + alpha[k + l]) * (row[k + l] + eta) * inverse[k + l];
            weights[k + l] = w;
            parts[l] += w;
        }
    for (; k < n; k++) {
        weights[k] = (counts[k] + alpha[k]) * (row[k] + eta) * inverse[k];
        parts[0] += weights[k];
    }
    return add_parts(parts);
}

/* The same with an eta for each topic. */
static inline double weights_own(const int32_t *restrict counts, const double *restrict alpha,
                                 const int32_t *restrict row, const float *restrict eta,
                                 const double *restrict inverse, int64_t n, double *restrict weights)
{
    double parts[PARTS] = {0};
    int64_t k = 0;
    for (; k + PARTS <= n; k += PARTS)
        for (int l = 0; l < PARTS; l++) {
            double w = (counts[k + l] + alpha[k + l]) * (row[k + l] + (double)eta[k + l]) * inverse[k + l];
            weights[k + l] = w;
            parts[l] += w;
        }
    for (; k < n; k++) {
        weights[k] = (counts[k] + alpha[k]) * (row[k] + (double)eta[k]) * inverse[k];
        parts[0] += weights[k];
    }
    return add_parts(parts);
}

#endif
