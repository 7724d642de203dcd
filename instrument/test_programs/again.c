// What plain.c does once, again and again: the counting that is written into the code must come to
// the same as that of the runtime.
#include "counts.h"

enum { ROUNDS = 100 };

struct Row {
  double a, b, c, d, e, f;
};
struct Tuple {
  float x, y, z;
};

ALONE struct Row rows[64];
ALONE struct Tuple tuples[300];
ALONE double corners[8 * 64 + 1];
ALONE float streams[2][1000];
ALONE long total[8];
ALONE int limits[4];

OPAQUE double two_rows(const struct Row* low) {
  const struct Row* high = low + 1;  // 11 reads
  return high->a - low->a + low->b * high->b + low->c * high->c + low->d * high->d +
         low->e * high->e + low->f;
}
OPAQUE void push(struct Tuple* t, float by) {  // 3 reads, 3 writes
  t->x += by;
  t->y += 2 * by;
  t->z += 3 * by;
}
OPAQUE void corner(double* c, double by) {  // 8 writes
  for (int i = 0; i < 8; ++i) c[i] = by * i;
}
OPAQUE float distance(const float* a, const float* b, int n) {  // n reads of each
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const float apart = a[i] - b[i];
    sum += apart * apart;
  }
  return sum;
}
OPAQUE void add_up(long* sum, const int* limit, int n) {  // n reads and writes, n reads
  for (int i = 0; i < n; ++i) *(volatile long*)sum += i < *(volatile const int*)limit;
}

int main(void) {
  clear_counts();
  volatile double sink = 0;
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 63; ++i) sink = sink + two_rows(&rows[i]);
  print_counts("rows", rows, sizeof rows);
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 300; ++i) push(&tuples[i], 1);
  print_counts("tuples", tuples, sizeof tuples);
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 64; ++i) corner(&corners[i * 8 + 1], round);  // never in one line
  print_counts("corners", corners, sizeof corners);
  for (int n = 0; n < 1000; n += 7) sink = sink + distance(streams[0], streams[1], n);
  print_counts("streams", streams, sizeof streams);
  for (int round = 0; round < ROUNDS; ++round) add_up(total, limits, 10);
  print_counts("total", total, sizeof total);
  print_counts("limits", limits, sizeof limits);
  print_calls();
  return 0;
}
