/* Topics of a document as a list of (count, topic) pairs, for documents with few topics; or as a row of all counts.
 *
 * An entry is count << 16 | topic; lists and rows begin at multiples of LANES entries, and entries past the end are
 * zero. Sums are computed in LANES lanes, in the same order on every instruction set. */
#ifndef SKLDA_LISTS_H
#define SKLDA_LISTS_H

#include "_lanes.h"

#define TOPIC(entry) ((entry) & 0xffff)
#define COUNT(entry) ((entry) >> 16)

/* weights[j] = (count_j + strength * excess_j) * word[topic_j], but zero for the topic `without`, which is in the list;
 * `excess` may be NULL. sums[l] = sum of the weights in lane l. Returns the index of `without` in the list. */
static int64_t list_weights(const uint32_t *restrict list, const float *restrict excess, float strength, int64_t n,
                            int without, const float *restrict word, float *restrict weights, float *restrict sums)
{
    float acc[LANES] = {0};
    int32_t at[LANES] = {0};
    int32_t found = 0;
    for (int64_t j = 0; j < n; j += LANES)
        for (int l = 0; l < LANES; l++) {
            uint32_t entry = list[j + l];
            float count = (float)(int32_t)COUNT(entry);
            float w = (excess ? count + strength * excess[j + l] : count) * word[TOPIC(entry)];
            int here = (int)TOPIC(entry) == without && entry > 0xffff;
            w = here ? 0 : w;
            at[l] = here ? (int32_t)j + l : at[l];
            weights[j + l] = w;
            acc[l] += w;
        }
    for (int l = 0; l < LANES; l++) {
        sums[l] = acc[l];
        found |= at[l];
    }
    return found;
}

/* sums[l] = sum of (count_k + strength * excess[k] + alpha[k]) * word[k] over the lane l, without the topic `without`.
 * The counts are in `shorts`, or else in `longs`; `excess` may be NULL. */
ALWAYS_INLINE void sum_row(const uint16_t *restrict shorts, const int32_t *restrict longs,
                           const float *restrict excess, float strength, const float *restrict alpha,
                           float *restrict word, int64_t without, int64_t width, float *restrict sums)
{
    float acc[LANES] = {0};
    float kept = word[without];
    word[without] = 0;
    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float count = shorts ? (float)shorts[j + l] : (float)longs[j + l];
            acc[l] += (count + (excess ? strength * excess[j + l] : 0) + alpha[j + l]) * word[j + l];
        }
    for (int l = 0; l < LANES; l++)
        sums[l] = acc[l];
    word[without] = kept;
}

#define ROW_SUMS(name, target)                                                                                         \
    target static void name(const uint16_t *shorts, const int32_t *longs, const float *excess, float strength,         \
                            const float *alpha, float *word, int64_t without, int64_t width, float *sums)              \
    {                                                                                                                  \
        if (shorts)                                                                                                    \
            sum_row(shorts, NULL, NULL, 0, alpha, word, without, width, sums);                                         \
        else                                                                                                           \
            sum_row(NULL, longs, excess, strength, alpha, word, without, width, sums);                                 \
    }

ROW_SUMS(row_sums, )
#if defined(WIDE_VECTORS)
ROW_SUMS(row_sums_wide, __attribute__((target("avx2"))))
#else
#define row_sums_wide row_sums
#endif

/* prior[k] = base[k] + position * slope[k] in single precision, added to totals[k]. If `bases` or `slopes` is NULL, all
 * topics have the same base or slope. */
static void move_row(const float *restrict bases, double base, const double *restrict slopes, double slope,
                     double position, int64_t n_topics, float *restrict prior, double *restrict totals)
{
    for (int64_t k = 0; k < n_topics; k++) {
        prior[k] = (float)((bases ? bases[k] : base) + position * (slopes ? slopes[k] : slope));
        totals[k] += prior[k];
    }
}

/* word[k] = (counts[k] + prior) * inverse[k], smooth[k] = alpha[k] * word[k]. blocks[b] = sum of smooth over block b of
 * LANES topics. If each topic has its own prior, `own` has them; otherwise it is NULL. */
static void word_row(const int32_t *restrict counts, float prior, const float *restrict own,
                     const float *restrict inverse, const float *restrict alpha, int64_t width, float *restrict word,
                     float *restrict smooth, double *restrict blocks)
{
    for (int64_t j = 0; j < width; j += LANES) {
        double half[LANES / 2];
        for (int l = 0; l < LANES; l++) {
            word[j + l] = ((float)counts[j + l] + (own ? own[j + l] : prior)) * inverse[j + l];
            smooth[j + l] = alpha[j + l] * word[j + l];
        }
        for (int l = 0; l < 8; l++)
            half[l] = (double)smooth[j + l] + smooth[j + 8 + l];
        for (int l = 0; l < 4; l++)
            half[l] += half[l + 4];
        blocks[j / LANES] = (half[0] + half[2]) + (half[1] + half[3]);
    }
}

/* Index of a topic in a list of n entries, or n if the list does not have it. */
static inline int64_t list_find(const uint32_t *list, int64_t n, uint32_t topic)
{
    int64_t at = n;
    for (int64_t j = 0; j < n; j++)
        at = TOPIC(list[j]) == topic ? j : at;
    return at;
}

#if defined(WIDE_VECTORS)
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f")))

/* In quarters, because `sums` may cross a line of the cache: loads would then wait for the store. */
AVX512 static inline void store_sums(float *sums, __m512 acc)
{
    _mm_storeu_ps(sums, _mm512_castps512_ps128(acc));
    _mm_storeu_ps(sums + 4, _mm512_extractf32x4_ps(acc, 1));
    _mm_storeu_ps(sums + 8, _mm512_extractf32x4_ps(acc, 2));
    _mm_storeu_ps(sums + 12, _mm512_extractf32x4_ps(acc, 3));
}

static inline int very_wide_vectors(void) { return __builtin_cpu_supports("avx512f"); }

AVX512 static int64_t list_weights_512(const uint32_t *restrict list, const float *restrict excess, float strength,
                                       int64_t n, int without, const float *restrict word, float *restrict weights,
                                       float *restrict sums)
{
    __m512 acc = _mm512_setzero_ps(), factor = _mm512_set1_ps(strength);
    __m512i low = _mm512_set1_epi32(0xffff), one = _mm512_set1_epi32(0x10000), taken = _mm512_set1_epi32(without);
    int64_t at = 0;
    for (int64_t j = 0; j < n; j += LANES) {
        __m512i entries = _mm512_loadu_si512(list + j), topics = _mm512_and_si512(entries, low);
        __mmask16 here = _mm512_mask_cmpeq_epi32_mask(_mm512_cmpge_epu32_mask(entries, one), topics, taken);
        __m512 counts = _mm512_cvtepi32_ps(_mm512_srli_epi32(entries, 16));
        if (excess)
            counts = _mm512_add_ps(counts, _mm512_mul_ps(factor, _mm512_loadu_ps(excess + j)));
        __m512 w = _mm512_maskz_mul_ps((__mmask16)~here, counts, _mm512_i32gather_ps(topics, word, 4));
        at |= -(int64_t)(here != 0) & (j + __builtin_ctz(here | 1u << LANES));
        _mm512_storeu_ps(weights + j, w);
        acc = _mm512_add_ps(acc, w);
    }
    store_sums(sums, acc);
    return at;
}

AVX512 static int64_t list_find_512(const uint32_t *list, int64_t n, uint32_t topic)
{
    __m512i low = _mm512_set1_epi32(0xffff), wanted = _mm512_set1_epi32((int)topic);
    for (int64_t j = 0; j < n; j += LANES) {
        __mmask16 valid = n - j < LANES ? (__mmask16)((1u << (n - j)) - 1) : (__mmask16)0xffff;
        __m512i topics = _mm512_and_si512(_mm512_loadu_si512(list + j), low);
        __mmask16 here = _mm512_mask_cmpeq_epi32_mask(valid, topics, wanted);
        if (here)
            return j + __builtin_ctz(here);
    }
    return n;
}

AVX512 static void word_row_512(const int32_t *restrict counts, float prior, const float *restrict own,
                                const float *restrict inverse, const float *restrict alpha, int64_t width,
                                float *restrict word, float *restrict smooth, double *restrict blocks)
{
    __m512 shared = _mm512_set1_ps(prior);
    for (int64_t j = 0; j < width; j += LANES) {
        __m512 w = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(counts + j)),
                                               own ? _mm512_loadu_ps(own + j) : shared), _mm512_loadu_ps(inverse + j));
        _mm512_storeu_ps(word + j, w);
        w = _mm512_mul_ps(_mm512_loadu_ps(alpha + j), w);
        _mm512_storeu_ps(smooth + j, w);
        __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(w), 1));
        __m512d half = _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(w)), _mm512_cvtps_pd(upper));
        __m256d quarter = _mm256_add_pd(_mm512_castpd512_pd256(half), _mm512_extractf64x4_pd(half, 1));
        __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(quarter), _mm256_extractf128_pd(quarter, 1));
        blocks[j / LANES] = _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
    }
}
#else
static inline int very_wide_vectors(void) { return 0; }
#define list_weights_512 list_weights
#define list_find_512 list_find
#define word_row_512 word_row
#endif

#endif
