// The statistics of statistics.c, with each field on a page of its own.
#include "sample.h"

enum { STEPS = 400000, PIECE = 400 };

#define ALONE __attribute__((aligned(PAGE)))
struct Statistics {
  ALONE long read;
  ALONE long parsed;
  ALONE long checked;
  ALONE long sorted;
  ALONE long merged;
  ALONE long packed;
  ALONE long sent;
  ALONE long received;
};
struct Statistics statistics;

static int threads;
static long* const fields[] = {&statistics.read,   &statistics.parsed, &statistics.checked,
                               &statistics.sorted, &statistics.merged, &statistics.packed,
                               &statistics.sent,   &statistics.received};
enum { FIELDS = sizeof fields / sizeof *fields };

// Not inlined, so that the field is not kept in a register.
__attribute__((noinline)) static void add(long* field, long amount) {
  *field += amount;
  __asm__ volatile("" ::: "memory");
}

static void* work(void* argument) {
  const long self = (long)(intptr_t)argument;
  if (self >= FIELDS) return NULL;
  const int active = threads < FIELDS ? threads : FIELDS;
  for (long i = STEPS / active; i > 0; --i)
    add(fields[self], (long)(scramble((uint64_t)i, PIECE) & 3));
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  run(threads, work);
  long sum = 0;
  for (int i = 0; i < FIELDS; ++i) sum += *fields[i];
  printf("checksum %ld\n", sum);
  return 0;
}
