// Vector operations with lanes left out. To be compiled for AVX2.
#include "counts.h"

ALONE int array[64];

OPAQUE void conditional(int* p, const int* mask, int n) {
  for (int i = 0; i < n; ++i)
    if (mask[i] > 0) p[i] += 1;
}

int main(void) {
  int mask[64];
  for (int i = 0; i < 64; ++i) mask[i] = i % 3 == 0;
  clear_counts();
  conditional(array, mask, 64);  // 22 reads and 22 writes
  print_counts("array", array, sizeof array);
  return 0;
}
