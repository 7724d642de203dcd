// A counter for each thread, side by side in one array.
#include "sample.h"

enum { STEPS = 400000, PIECE = 400 };

static int threads;
static volatile long* counters;

static void* work(void* argument) {
  const long self = (long)(intptr_t)argument;
  for (long i = STEPS / threads; i > 0; --i) {
    const long result = (long)(scramble((uint64_t)i, PIECE) & 3);
    counters[self] += result;  // PLANTED: false-sharing
  }
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  counters = (volatile long*)calloc(MAX_THREADS, sizeof *counters);  // PLANTED: false-sharing
  run(threads, work);
  long sum = 0;
  for (int i = 0; i < threads; ++i) sum += counters[i];
  printf("checksum %ld\n", sum);
  free((void*)counters);
  return 0;
}
