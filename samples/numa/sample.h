// What the samples in C and C++ share: the number of threads, and starting them.
#ifndef FATHOM_SAMPLES_NUMA_SAMPLE_H
#define FATHOM_SAMPLES_NUMA_SAMPLE_H

#ifdef __cplusplus
#include <cstdio>
#include <cstdlib>
#endif

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 16, PAGE = 4096 };

static inline int threads_from(int argc, char** argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 4;
  if (threads < 1 || threads > MAX_THREADS) {
    fprintf(stderr, "usage: %s [THREADS], from 1 to %d\n", argv[0], MAX_THREADS);
    exit(2);
  }
  return threads;
}

// Starts a thread for each index from `first` to `last` - 1, which gets its index.
static inline void start(pthread_t* threads, int first, int last, void* (*routine)(void*)) {
  for (int i = first; i < last; ++i)
    if (pthread_create(&threads[i], NULL, routine, (void*)(intptr_t)i) != 0) abort();
}
static inline void join(pthread_t* threads, int count) {
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}
static inline void run(int count, void* (*routine)(void*)) {
  pthread_t threads[MAX_THREADS];
  start(threads, 0, count, routine);
  join(threads, count);
}

// Work without memory, `rounds` times, that no compiler finds a short cut for.
static inline uint64_t scramble(uint64_t x, long rounds) {
  for (; rounds > 0; --rounds) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// Whole pages, not touched yet.
static inline void* pages(size_t bytes) {
  void* memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
  if (memory == NULL) abort();
  return memory;
}

#endif
