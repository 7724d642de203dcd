// OpenMP: the bins of histogram.c, with those of a thread on a page of their own.
#include <omp.h>

#include "sample.h"

enum { BINS = 4, STRIDE = PAGE / sizeof(unsigned), STEPS = 400000, PIECE = 400 };

static volatile unsigned* bins;

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  omp_set_num_threads(threads);
  bins = (volatile unsigned*)pages(MAX_THREADS * PAGE);
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    volatile unsigned* own = bins + self * STRIDE;
    uint64_t seed = 1;
    for (int bin = 0; bin < BINS; ++bin) own[bin] = 0;
    for (int i = STEPS / threads; i > 0; --i) {
      seed = scramble(seed, PIECE);
      ++own[seed & 3];
    }
  }
  unsigned long sum = 0;
  for (int i = 0; i < BINS * threads; ++i) sum += bins[i / BINS * STRIDE + i % BINS];
  printf("checksum %lu\n", sum);
  free((void*)bins);
  return 0;
}
