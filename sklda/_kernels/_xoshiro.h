/* xoshiro256++ 1.0 of Blackman and Vigna (2019), and their splitmix64 to seed it. */
#ifndef SKLDA_XOSHIRO_H
#define SKLDA_XOSHIRO_H

#include <stdint.h>

static inline uint64_t xoshiro_next(uint64_t *s)
{
    uint64_t sum = s[0] + s[3];
    uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* uniform on [0, 1) with 53 bits */
static inline double uniform(uint64_t *s)
{
    return (double)(xoshiro_next(s) >> 11) * 0x1p-53;
}

static inline uint64_t mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static inline void seed_state(uint64_t key, uint64_t *s)
{
    for (int i = 0; i < 4; i++)
        s[i] = mix64(key + (uint64_t)i * 0x9e3779b97f4a7c15ULL);
}

#endif
