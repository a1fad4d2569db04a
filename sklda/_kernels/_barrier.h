/* A stop flag for work in threads, and a barrier. Threads reach it every few hundred microseconds, so they spin
   for some time before they yield their core. */
#ifndef SKLDA_BARRIER_H
#define SKLDA_BARRIER_H

#include <stdint.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define YIELD_CORE() SwitchToThread()
#define SPIN() YieldProcessor()
#else
#include <sched.h>
#define YIELD_CORE() sched_yield()
#if defined(__x86_64__)
#define SPIN() __builtin_ia32_pause()
#else
#define SPIN() ((void)0)
#endif
#endif

#if defined(__GNUC__) || defined(__clang__)
static inline int32_t add_one(int32_t *p) { return __atomic_add_fetch(p, 1, __ATOMIC_ACQ_REL); }
static inline int32_t load(const int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void store(int32_t *p, int32_t value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
#else
static inline int32_t add_one(int32_t *p) { return InterlockedIncrement((volatile LONG *)p); }
static inline int32_t load(const int32_t *p) { return InterlockedCompareExchange((volatile LONG *)p, 0, 0); }
static inline void store(int32_t *p, int32_t value) { InterlockedExchange((volatile LONG *)p, value); }
#endif

/* Number of reads before a waiting thread yields its core. */
#define MOST_SPINS 512

/* Layout of the array of a barrier: the number of threads that wait, and how often all have passed. Each has a cache
   line of its own. */
#define ARRIVED 0
#define PASSED 32
#define BARRIER 64

/* Wait until n threads have called this, and return 1. Return 0 if the flag `stop` is set; then the barrier must not be
   used again. What a thread wrote before the barrier, the other threads read after it. */
static inline int wait_for_all(int32_t *barrier, int32_t n, const int32_t *stop)
{
    if (load(stop))
        return 0;
    if (n < 2)
        return 1;
    int32_t passed = load(barrier + PASSED);
    if (add_one(barrier + ARRIVED) == n) {
        store(barrier + ARRIVED, 0);
        store(barrier + PASSED, passed + 1);
        return 1;
    }
    for (int spins = 0; load(barrier + PASSED) == passed; spins++) {
        if (load(stop))
            return 0;
        if (spins < MOST_SPINS)
            SPIN();
        else
            YIELD_CORE();
    }
    return 1;
}

#endif
