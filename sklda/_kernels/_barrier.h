/* A stop flag for work in threads, and steps of tasks that threads share. A thread takes a task that no other has taken,
   so those that the system keeps from running, beside other programs, hold up at most the task that they have. The others
   wait for the end of the step. They spin for as long as a task can take more than another one, and then sleep. */
#ifndef SKLDA_BARRIER_H
#define SKLDA_BARRIER_H

#include <stdint.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define SLEEP() SwitchToThread()
#define SPIN() YieldProcessor()
#else
#include <time.h>
#define SLEEP() nanosleep(&(struct timespec){0, 50000}, 0)
#if defined(__x86_64__)
#define SPIN() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define SPIN() __asm__ volatile("isb")
#else
#define SPIN() ((void)0)
#endif
#endif

#if defined(__GNUC__) || defined(__clang__)
static inline int32_t add_one(int32_t *p) { return __atomic_add_fetch(p, 1, __ATOMIC_ACQ_REL); }
static inline int32_t load(const int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void store(int32_t *p, int32_t value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
static inline int replace(int32_t *p, int32_t old, int32_t value)
{
    return __atomic_compare_exchange_n(p, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#else
static inline int32_t add_one(int32_t *p) { return InterlockedIncrement((volatile LONG *)p); }
static inline int32_t load(const int32_t *p) { return InterlockedCompareExchange((volatile LONG *)p, 0, 0); }
static inline void store(int32_t *p, int32_t value) { InterlockedExchange((volatile LONG *)p, value); }
static inline int replace(int32_t *p, int32_t old, int32_t value)
{
    return InterlockedCompareExchange((volatile LONG *)p, value, old) == old;
}
#endif

/* Number of reads before a waiting thread sleeps: some hundred microseconds. */
#define MOST_SPINS 8192

/* Layout of the array: the step under way; whether the one before it was rejected; the number of its tasks that are done;
   for each task, the next step in which it is to be taken. Threads write the last two while others read the first. */
#define STEP 0
#define REJECTED 1
#define DONE 32
#define NEXT 64

/* Take a task of a step, and return 1. Return 0 if another thread has taken it. */
static inline int take_task(int32_t *progress, int32_t step, int64_t task)
{
    return load(progress + NEXT + task) == step && replace(progress + NEXT + task, step, step + 1);
}

/* Say that a task is done. Return 1 if it is the last one of its step: then the same thread calls `end_step`. */
static inline int is_last(int32_t *progress, int64_t n_tasks) { return add_one(progress + DONE) == n_tasks; }

/* What was written by any thread before the end of a step is read by all threads after it. */
static inline void end_step(int32_t *progress, int32_t step)
{
    store(progress + DONE, 0);
    store(progress + STEP, step + 1);
}

/* Wait until a step has ended, and return 1. Return 0 if the flag `stop` is set; then the array is of no use. */
static inline int wait_for_end(const int32_t *progress, int32_t step, const int32_t *stop)
{
    for (int spins = 0; load(progress + STEP) <= step; spins++) {
        if (load(stop))
            return 0;
        if (spins < MOST_SPINS)
            SPIN();
        else
            SLEEP();
    }
    return !load(stop);
}

#endif
