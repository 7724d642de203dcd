// Clean: phases between barriers, few enough not to matter, on memory of each thread's own.
#include "sample.h"

enum { CELLS = 1 << 18, PHASES = 2, ROUNDS = 200 };

static int threads;
static pthread_barrier_t barrier;
static unsigned long sums[MAX_THREADS];

static void* work(void* argument) {
  const long count = CELLS / threads;
  unsigned long* cells = (unsigned long*)pages((size_t)count * sizeof *cells);
  for (long i = 0; i < count; ++i) cells[i] = (unsigned long)i;
  for (int phase = 0; phase < PHASES; ++phase) {
    for (int round = 0; round < ROUNDS; ++round)
      for (long i = 0; i < count; ++i) cells[i] = (cells[i] ^ (unsigned long)phase) * 31 % 1000003;
    pthread_barrier_wait(&barrier);
  }
  unsigned long sum = 0;
  for (long i = 0; i < count; ++i) sum += cells[i];
  sums[(intptr_t)argument] = sum;
  free(cells);
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run(threads, work);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  printf("checksum %lu\n", sum);
  return 0;
}
