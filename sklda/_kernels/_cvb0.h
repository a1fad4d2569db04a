/* The CVB0 update of one word of a document, over topics in lanes (Asuncion et al. 2009; Papanikolaou et al. 2017,
 * equation 6). Sums over topics have a fixed order, so every instruction set gives the same results. */
#ifndef SKLDA_CVB0_H
#define SKLDA_CVB0_H

#include "_lanes.h"

/* The arrays of a document that all of its words share, `width` floats each. */
typedef struct {
    float *expected;     /* n_dk */
    const float *alpha;  /* zero in the padding */
    const float *totals; /* m_k plus the sum of eta; positive in the padding */
    const float *least;  /* the sum of eta; positive in the padding */
    float *weights;      /* scratch */
    int64_t width;
} cvb0_document;

/* Replace the distribution `own` of a word with `repeats` tokens. Its expected counts in the topics are row + change;
 * the change of the counts is added to `change` and `expected`. Nothing changes if all weights underflow. */
ALWAYS_INLINE void cvb0_update_by(float *restrict own, const float *restrict row, float *restrict change,
                                  const cvb0_document *document, float eta, const float *restrict etas, float repeats)
{
    const float *restrict alpha = document->alpha, *restrict totals = document->totals;
    const float *restrict least = document->least;
    float *restrict expected = document->expected, *restrict weights = document->weights;
    int64_t width = document->width;
    float acc[LANES] = {0};
    float total = 0;
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            int64_t k = j + l;
            float in_document = expected[k] - own[k], in_topic = row[k] + change[k] - own[k], rest = totals[k] - own[k];
            in_document = (in_document > 0 ? in_document : 0) + alpha[k];
            in_topic = (in_topic > 0 ? in_topic : 0) + (etas ? etas[k] : eta);
            rest = rest > least[k] ? rest : least[k];
            weights[k] = in_topic / rest * in_document;
            acc[l] += weights[k];
        }
    for (int l = 0; l < LANES; l++)
        total += acc[l];
    /* The inverse of a subnormal number is infinite. */
    if (!(total >= FLT_MIN))
        return;
    total = 1 / total;
    for (int64_t k = 0; k < width; k++) {
        float now = weights[k] * total, step = repeats * (now - own[k]);
        own[k] = now;
        expected[k] += step;
        change[k] += step;
    }
}

ALWAYS_INLINE void cvb0_update(float *own, const float *row, float *change, const cvb0_document *document, float eta,
                               const float *etas, float repeats)
{
    if (etas)
        cvb0_update_by(own, row, change, document, 0, etas, repeats);
    else
        cvb0_update_by(own, row, change, document, eta, 0, repeats);
}

/* a[k] += share * b[k] */
ALWAYS_INLINE void add_scaled(float *restrict a, const float *restrict b, float share, int64_t width)
{
    for (int64_t k = 0; k < width; k++)
        a[k] += share * b[k];
}

/* The same, bit for bit, with AVX2. */
#if defined(WIDE_VECTORS)
__attribute__((target("avx2"))) static void cvb0_update_wide(float *own, const float *row, float *change,
                                                             const cvb0_document *document, float eta,
                                                             const float *etas, float repeats)
{
    cvb0_update(own, row, change, document, eta, etas, repeats);
}
#else
#define cvb0_update_wide cvb0_update
#endif

#endif
