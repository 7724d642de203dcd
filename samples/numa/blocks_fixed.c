// The grid of blocks.c, with each block filled by the thread that works on it.
#include "sample.h"

enum { CELLS = 1 << 19, ROUNDS = 200 };

static int threads;
static double* grid;
static double sums[MAX_THREADS];

static void* work(void* argument) {
  const long self = (long)(intptr_t)argument, block = CELLS / MAX_THREADS;
  const long from = block * (MAX_THREADS * self / threads),
             to = block * (MAX_THREADS * (self + 1) / threads);
  double sum = 0;
  for (long i = from; i < to; ++i) grid[i] = (double)(i % 7);
  for (int round = 0; round < ROUNDS; ++round)
    for (long i = from; i < to; ++i) grid[i] = grid[i] * 0.5 + 1;
  for (long i = from; i < to; ++i) sum += grid[i];
  sums[self] = sum;
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  grid = (double*)pages(CELLS * sizeof *grid);
  run(threads, work);
  double sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  printf("checksum %.6f\n", sum);
  free(grid);
  return 0;
}
