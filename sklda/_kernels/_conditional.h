/* Loops over topics in double precision, with explicit partial sums, so that compilers vectorise them. */
#ifndef SKLDA_CONDITIONAL_H
#define SKLDA_CONDITIONAL_H

#include "_lanes.h"

#define PARTS 8

static inline double add_parts(const double *parts)
{
    return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

/* weights[k] = (counts[k] + alpha[k]) * (row[k] + eta) * inverse[k]; returns their sum. If each topic has its own eta,
 * `own` has them; otherwise it is NULL. */
ALWAYS_INLINE double conditional_by(const int32_t *restrict counts, const double *restrict alpha,
                                    const int32_t *restrict row, double eta, const float *restrict own,
                                    const double *restrict inverse, int64_t n, double *restrict weights)
{
    double parts[PARTS] = {0};
    int64_t k = 0;
    for (; k + PARTS <= n; k += PARTS)
        for (int l = 0; l < PARTS; l++) {
            double w = (counts[k + l] + alpha[k + l]) * (row[k + l] + (own ? (double)own[k + l] : eta)) * inverse[k + l];
            weights[k + l] = w;
            parts[l] += w;
        }
    for (; k < n; k++) {
        weights[k] = (counts[k] + alpha[k]) * (row[k] + (own ? (double)own[k] : eta)) * inverse[k];
        parts[0] += weights[k];
    }
    return add_parts(parts);
}

static inline double conditional(const int32_t *counts, const double *alpha, const int32_t *row, double eta,
                                 const float *own, const double *inverse, int64_t n, double *weights)
{
    return own ? conditional_by(counts, alpha, row, 0, own, inverse, n, weights)
               : conditional_by(counts, alpha, row, eta, 0, inverse, n, weights);
}

#endif
