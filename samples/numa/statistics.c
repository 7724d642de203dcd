// A global struct of statistics, of which each thread updates a field of its own.
#include "sample.h"

enum { STEPS = 400000, PIECE = 400 };

struct Statistics {
  long read, parsed, checked, sorted, merged, packed, sent, received;
};
struct Statistics statistics __attribute__((aligned(64)));  // PLANTED: false-sharing

static int threads;
static long* const fields[] = {&statistics.read,   &statistics.parsed, &statistics.checked,
                               &statistics.sorted, &statistics.merged, &statistics.packed,
                               &statistics.sent,   &statistics.received};
enum { FIELDS = sizeof fields / sizeof *fields };

// Not inlined, so that the field is not kept in a register.
__attribute__((noinline)) static void add(long* field, long amount) {
  *field += amount;  // PLANTED: false-sharing
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
