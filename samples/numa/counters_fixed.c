// The counters of counters.c, each on a page of its own.
#include "sample.h"

enum { STEPS = 400000, PIECE = 400 };

static int threads;
struct Counter {
  volatile long value;
  char padding[PAGE - sizeof(long)];
};
static struct Counter* counters;

static void* work(void* argument) {
  const long self = (long)(intptr_t)argument;
  counters[self].value = 0;
  for (long i = STEPS / threads; i > 0; --i) {
    const long result = (long)(scramble((uint64_t)i, PIECE) & 3);
    counters[self].value += result;
  }
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  counters = (struct Counter*)pages(MAX_THREADS * sizeof *counters);
  run(threads, work);
  long sum = 0;
  for (int i = 0; i < threads; ++i) sum += counters[i].value;
  printf("checksum %ld\n", sum);
  free(counters);
  return 0;
}
