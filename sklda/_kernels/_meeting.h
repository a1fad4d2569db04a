/* A flag that ends work in threads, and a barrier for threads that come to it every few hundred microseconds: they spin
   before they let others run. */
#ifndef SKLDA_MEETING_H
#define SKLDA_MEETING_H

#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <windows.h>
#define LET_OTHERS_RUN() SwitchToThread()
static inline int32_t add_one(int32_t *p) { return InterlockedIncrement((volatile LONG *)p); }
static inline int32_t look(const int32_t *p) { return InterlockedCompareExchange((volatile LONG *)p, 0, 0); }
static inline void tell(int32_t *p, int32_t value) { InterlockedExchange((volatile LONG *)p, value); }
#else
#include <sched.h>
#define LET_OTHERS_RUN() sched_yield()
static inline int32_t add_one(int32_t *p) { return __atomic_add_fetch(p, 1, __ATOMIC_ACQ_REL); }
static inline int32_t look(const int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void tell(int32_t *p, int32_t value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
#endif

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define WAIT_A_LITTLE() __builtin_ia32_pause()
#else
#define WAIT_A_LITTLE() ((void)0)
#endif

/* Looks before a thread gives up its core. */
#define PATIENCE 512

/* Where in the array of a meeting those that have come are counted, and its turns, in cache lines of their own. */
#define COME 0
#define TURN 32
#define MEETING 64

/* Returns when n threads have come, or, with zero, when the flag `stop` is up: then they never meet again.
   What one has written before, the others see afterwards. */
static inline int meet(int32_t *meeting, int32_t n, const int32_t *stop)
{
    if (look(stop))
        return 0;
    if (n < 2)
        return 1;
    int32_t turn = look(meeting + TURN);
    if (add_one(meeting + COME) == n) {
        tell(meeting + COME, 0);
        tell(meeting + TURN, turn + 1);
        return 1;
    }
    for (int looks = 0; look(meeting + TURN) == turn; looks++) {
        if (look(stop))
            return 0;
        if (looks < PATIENCE)
            WAIT_A_LITTLE();
        else
            LET_OTHERS_RUN();
    }
    return 1;
}

#endif
