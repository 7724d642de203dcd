// Clean: each thread sorts an array of its own.
#include "sample.h"

enum { NUMBERS = 1 << 21 };

static int threads;
static unsigned long sums[MAX_THREADS];

static void sort(unsigned* numbers, unsigned* spare, long count) {
  for (int shift = 0; shift < 32; shift += 8) {
    long starts[257] = {0};
    for (long i = 0; i < count; ++i) ++starts[(numbers[i] >> shift & 255) + 1];
    for (int i = 0; i < 256; ++i) starts[i + 1] += starts[i];
    for (long i = 0; i < count; ++i) spare[starts[numbers[i] >> shift & 255]++] = numbers[i];
    unsigned* other = numbers;
    numbers = spare;
    spare = other;
  }
}

static void* work(void* argument) {
  const long count = NUMBERS / threads;
  unsigned* numbers = (unsigned*)pages((size_t)count * sizeof *numbers);
  unsigned* spare = (unsigned*)pages((size_t)count * sizeof *spare);
  unsigned seed = (unsigned)(intptr_t)argument + 1;
  for (long i = 0; i < count; ++i) numbers[i] = seed = seed * 1664525 + 1013904223;
  sort(numbers, spare, count);
  unsigned long sum = 0;
  for (long i = 1; i < count; ++i) sum += numbers[i] >= numbers[i - 1];
  sums[(intptr_t)argument] = sum;
  free(numbers);
  free(spare);
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  run(threads, work);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  printf("checksum %lu\n", sum + (unsigned)threads);
  return 0;
}
