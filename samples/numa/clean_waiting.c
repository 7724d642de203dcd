// Clean: threads that wait, spinning, for a flag that is set once, and then work on their own.
#include <sched.h>
#include <stdatomic.h>

#include "sample.h"

enum { CELLS = 1 << 16, ROUNDS = 2000 };

static int threads;
static atomic_int go;
static unsigned long sums[MAX_THREADS];

static void* work(void* argument) {
  while (atomic_load_explicit(&go, memory_order_acquire) == 0) sched_yield();
  const long count = CELLS / threads;
  unsigned* cells = (unsigned*)pages((size_t)count * sizeof *cells);
  for (long i = 0; i < count; ++i) cells[i] = (unsigned)i;
  for (int round = 0; round < ROUNDS; ++round)
    for (long i = 0; i < count; ++i) cells[i] = cells[i] * 1664525 + 1013904223;
  unsigned long sum = 0;
  for (long i = 0; i < count; ++i) sum += cells[i] & 255;
  sums[(intptr_t)argument] = sum;
  free(cells);
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  pthread_t team[MAX_THREADS];
  start(team, 0, threads, work);
  atomic_store_explicit(&go, 1 + (int)(scramble(1, 20000000) & 1), memory_order_release);
  join(team, threads);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  printf("checksum %lu\n", sum);
  return 0;
}
