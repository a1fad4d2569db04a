/* Gamma variates, for Dirichlet draws by normalisation. */
#ifndef SKLDA_GAMMA_H
#define SKLDA_GAMMA_H

#include <math.h>
#include <stdint.h>

#include "_xoshiro.h"

/* Variates below exp(-SMALLEST_LOG_GAMMA) are set to zero. Beside a variate of shape 1 or more, a uniform number of 53
 * bits cannot select them; and the product of two larger ones is not subnormal, which would be slow. */
#define SMALLEST_LOG_GAMMA 60.0

typedef struct {
    uint64_t state[4];
    double spare;
    int has_spare;
} gamma_source;

static inline void seed_source(uint64_t key, gamma_source *source)
{
    seed_state(key, source->state);
    source->has_spare = 0;
}

/* A loop ends after this many rejections in a row, whose probability is 2^-1000 unless the shape is not positive. */
#define MOST_TRIES 1000

/* Marsaglia's polar method */
static inline double normal(gamma_source *source)
{
    double x, y, s, factor;
    int tries = 0;
    if (source->has_spare) {
        source->has_spare = 0;
        return source->spare;
    }
    do {
        x = 2 * uniform(source->state) - 1;
        y = 2 * uniform(source->state) - 1;
        s = x * x + y * y;
        if (++tries == MOST_TRIES)
            return 0;
    } while (s >= 1 || s == 0);
    factor = sqrt(-2 * log(s) / s);
    source->spare = y * factor;
    source->has_spare = 1;
    return x * factor;
}

/* Gamma(shape, 1), shape below 1, by Ahrens and Dieter (1974): mostly U^(1 / shape), which is rarely rejected. */
static inline double small_gamma(gamma_source *source, double shape)
{
    double bound = 1 + shape * 0.36787944117144233, p, x, v;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        p = bound * uniform(source->state);
        if (p <= 1) {
            x = log(p) / shape;
            if (x < -SMALLEST_LOG_GAMMA)
                return 0;
            x = exp(x);
            v = uniform(source->state);
            if (v < 1 - x || v < exp(-x))
                return x;
        } else {
            x = -log((bound - p) / shape);
            if (uniform(source->state) < pow(x, shape - 1))
                return x;
        }
    }
    return 0;
}

/* Gamma(shape, 1); for a shape of 1 or more by Marsaglia and Tsang (2000). */
static inline double gamma_variate(gamma_source *source, double shape)
{
    double d, c, x, v, u;
    if (shape < 1)
        return small_gamma(source, shape);
    d = shape - 1.0 / 3;
    c = 1 / sqrt(9 * d);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        x = normal(source);
        v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        u = 1 - uniform(source->state);
        if (u < 1 - 0.0331 * x * x * x * x || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return d * v;
    }
    return shape;
}

#endif
