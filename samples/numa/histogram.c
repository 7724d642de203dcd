// OpenMP: each thread counts in bins of its own, which lie between those of the others.
#include <omp.h>

#include "sample.h"

enum { BINS = 4, STEPS = 400000, PIECE = 400 };

static volatile unsigned* bins;

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  omp_set_num_threads(threads);
  bins = (volatile unsigned*)calloc(BINS * MAX_THREADS, sizeof *bins);  // PLANTED: false-sharing
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
    uint64_t seed = 1;
    for (int i = STEPS / threads; i > 0; --i) {
      seed = scramble(seed, PIECE);
      ++bins[(seed & 3) * (unsigned)threads + (unsigned)self];  // PLANTED: false-sharing
    }
  }
  unsigned long sum = 0;
  for (int i = 0; i < BINS * threads; ++i) sum += bins[i];
  printf("checksum %lu\n", sum);
  free((void*)bins);
  return 0;
}
