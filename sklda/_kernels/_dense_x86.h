/* The loops of _dense.h with vectors of 256 and 512 bits. The results are the same, bit for bit. */
#ifndef SKLDA_DENSE_X86_H
#define SKLDA_DENSE_X86_H

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,popcnt")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))

AVX512 static inline void run_lanes_512(const uint16_t *restrict shorts, const int32_t *restrict longs, float eta,
                                           const float *restrict prior, const float *restrict scale, int64_t width,
                                           double *restrict running)
{
    __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
    for (int64_t j = 0; j < width; j += LANES) {
        __m512i counts = longs ? _mm512_loadu_si512(longs + j)
                               : _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(shorts + j)));
        __m512 w = _mm512_add_ps(_mm512_cvtepi32_ps(counts), prior ? _mm512_loadu_ps(prior + j) : _mm512_set1_ps(eta));
        w = _mm512_mul_ps(w, _mm512_loadu_ps(scale + j));
        low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(w)));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(w, 1)));
        _mm512_storeu_pd(running + j, low);
        _mm512_storeu_pd(running + j + 8, high);
    }
}

/* Adds w to two sums of four lanes each, and stores them. */
AVX2 static inline void run_eight_wide(__m256 w, __m256d *low, __m256d *high, double *running)
{
    *low = _mm256_add_pd(*low, _mm256_cvtps_pd(_mm256_castps256_ps128(w)));
    *high = _mm256_add_pd(*high, _mm256_cvtps_pd(_mm256_extractf128_ps(w, 1)));
    _mm256_storeu_pd(running, *low);
    _mm256_storeu_pd(running + 4, *high);
}

AVX2 static inline void run_lanes_wide(const uint16_t *restrict shorts, const int32_t *restrict longs, float eta,
                                       const float *restrict prior, const float *restrict scale, int64_t width,
                                       double *restrict running)
{
    __m256d acc[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    for (int64_t j = 0; j < width; j += LANES)
        for (int h = 0; h < 2; h++) {
            int64_t i = j + 8 * h;
            __m256i counts = longs ? _mm256_loadu_si256((const __m256i *)(longs + i))
                                   : _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(shorts + i)));
            __m256 own = prior ? _mm256_loadu_ps(prior + i) : _mm256_set1_ps(eta);
            __m256 w = _mm256_mul_ps(_mm256_add_ps(_mm256_cvtepi32_ps(counts), own), _mm256_loadu_ps(scale + i));
            run_eight_wide(w, acc + 2 * h, acc + 2 * h + 1, running + i);
        }
}

AVX2 static inline void accumulate_wide(const double *sums, double *passed)
{
    __m256d a = _mm256_loadu_pd(sums), b = _mm256_add_pd(a, _mm256_loadu_pd(sums + 4));
    __m256d c = _mm256_add_pd(b, _mm256_loadu_pd(sums + 8)), d = _mm256_add_pd(c, _mm256_loadu_pd(sums + 12));
    __m128d first = _mm256_castpd256_pd128(d), last = _mm256_extractf128_pd(d, 1);
    __m128d two = _mm_add_sd(first, _mm_unpackhi_pd(first, first)), three = _mm_add_sd(two, last);
    __m256d before = _mm256_set_m128d(_mm_unpacklo_pd(two, three), _mm_unpacklo_pd(_mm_setzero_pd(), first));
    _mm256_storeu_pd(passed, _mm256_add_pd(a, before));
    _mm256_storeu_pd(passed + 4, _mm256_add_pd(b, before));
    _mm256_storeu_pd(passed + 8, _mm256_add_pd(c, before));
    _mm256_storeu_pd(passed + 12, _mm256_add_pd(d, before));
    passed[LANES] = _mm_cvtsd_f64(_mm_add_sd(three, _mm_unpackhi_pd(last, last)));
}

AVX2 static inline int count_passed_wide(const double *passed, double u)
{
    __m256d all = _mm256_set1_pd(u);
    int bits = 0;
    for (int a = 0; a < LANES; a += 4)
        bits |= _mm256_movemask_pd(_mm256_cmp_pd(all, _mm256_loadu_pd(passed + a), _CMP_GE_OQ)) << a;
    return __builtin_popcount((unsigned)bits);
}

AVX2 static inline void put_scale_wide(float *scale, int32_t topic, float value)
{
    float *part = scale + (topic & ~7);
    __m256i at = _mm256_cmpeq_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(topic & 7));
    _mm256_storeu_ps(part, _mm256_blendv_ps(_mm256_loadu_ps(part), _mm256_set1_ps(value), _mm256_castsi256_ps(at)));
}

AVX512 static inline void put_scale_512(float *scale, int32_t topic, float value)
{
    float *part = scale + (topic & ~15);
    __mmask16 at = (__mmask16)(1u << (topic & 15));
    _mm512_storeu_ps(part, _mm512_mask_mov_ps(_mm512_loadu_ps(part), at, _mm512_set1_ps(value)));
}

AVX2 static inline void add_to_row_wide(uint16_t *shorts, int32_t *longs, int32_t topic, int step)
{
    if (longs) {
        longs[topic] += step;
        return;
    }
    __m128i *part = (__m128i *)(shorts + (topic & ~7));
    __m128i at = _mm_cmpeq_epi16(_mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7), _mm_set1_epi16((short)(topic & 7)));
    _mm_storeu_si128(part, _mm_add_epi16(_mm_loadu_si128(part), _mm_and_si128(at, _mm_set1_epi16((short)step))));
}

AVX512 static inline void add_to_row_512(uint16_t *shorts, int32_t *longs, int32_t topic, int step)
{
    __mmask16 at = (__mmask16)(1u << (topic & 15));
    if (longs) {
        int32_t *part = longs + (topic & ~15);
        __m512i row = _mm512_loadu_si512(part);
        _mm512_storeu_si512(part, _mm512_mask_add_epi32(row, at, row, _mm512_set1_epi32(step)));
    } else {
        __m256i *part = (__m256i *)(shorts + (topic & ~15)), row = _mm256_loadu_si256(part);
        _mm256_storeu_si256(part, _mm256_mask_add_epi16(row, at, row, _mm256_set1_epi16((short)step)));
    }
}

/* The compiler makes as good code of these. */
#define count_column_wide count_column
#define count_column_512 count_column
#define count_passed_512 count_passed_wide
#define accumulate_512 accumulate_wide

#endif
