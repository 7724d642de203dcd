// Atomics, block copies, vectors, waiting loops and stencils of known number of accesses.
#include <stdatomic.h>
#include <string.h>

#include "counts.h"

struct Point {
  float x, y, z;
};

ALONE atomic_int counter;
ALONE _Atomic long exchanged;
ALONE volatile int flag[16];
ALONE char from[4096], to[4096], small[64];
ALONE struct Point points[64];
ALONE double matrix[64][64];
ALONE int mixed[16];

OPAQUE void update(int n) {
  for (int i = 0; i < n; ++i) atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}
OPAQUE void exchange(void) {
  long expected = 0;
  atomic_compare_exchange_strong(&exchanged, &expected, 7);
}
OPAQUE void copy(char* a, const char* b, unsigned long n) { memcpy(a, b, n); }
OPAQUE void fill(char* a, unsigned long n) { memset(a, 0, n); }
OPAQUE float dot(const struct Point* p, int i) { return p[i].x * p[i].y + p[i].z; }
OPAQUE void wait_for_flag(void) {
  int value;
  do {
    __builtin_ia32_pause();
    value = flag[0];
  } while (value == 0);
}
OPAQUE void column(double (*m)[64], int j) {
  for (int i = 0; i < 64; ++i) m[i][j] += 1;
}
OPAQUE int at_once(int* p) {
  int a = p[0];  // 1 read
  a += p[1];     // 1 read
  p[0] = a;      // 1 write
  p[2] = a;      // 1 write
  return a;
}

int main(void) {
  clear_counts();
  update(50);
  print_counts("counter", &counter, 64);
  exchange();
  print_counts("exchanged", &exchanged, 64);
  copy(to, from, 1003);
  print_counts("from", from, sizeof from);
  print_counts("to", to, sizeof to);
  fill(small, 16);
  print_counts("small", small, sizeof small);
  volatile float sink = 0;
  for (int i = 0; i < 64; ++i) sink = dot(points, i);
  (void)sink;
  print_counts("points", points, sizeof points);
  flag[0] = 1;
  wait_for_flag();
  print_counts("flag", (void*)flag, 64);
  column(matrix, 3);
  print_counts("matrix", matrix, sizeof matrix);
  at_once(mixed);
  print_counts("mixed", mixed, sizeof mixed);
  return 0;
}
