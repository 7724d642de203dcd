// Loads and stores of known number, each in an object of its own.
#include "counts.h"

struct Pair {
  long first, second;
};

ALONE int scalar[16];
ALONE struct Pair pair[4];
ALONE char bytes[64];
ALONE double vector[1024];
ALONE long table[512];
ALONE const int constants[16] = {1, 2, 3, 4};
ALONE struct __attribute__((packed)) Packed {
  char filler[61];
  long across;
} packed;
ALONE int strided[4096];

OPAQUE void scalars(int* p, int n) {
  for (int i = 0; i < n; ++i) {
    *(volatile int*)p = i;  // n writes, of one word
    ((volatile int*)p)[1];  // n reads, of another
  }
}
OPAQUE void members(struct Pair* p) {
  p->first = p->second + 1;  // 1 read, 1 write
  p->second = p->first * 2;  // optimized: 1 write
}
OPAQUE void one_byte(char* p) { p[7] = 3; }
OPAQUE int constant(int i) { return constants[i & 3]; }
OPAQUE long local(int n) {
  long own[64];
  for (int i = 0; i < 64; ++i) own[i] = i * n;
  long sum = 0;
  for (int i = 0; i < 64; ++i) sum += own[(i * n) & 63];
  return sum;
}
OPAQUE long random_order(const long* p, int n) {
  long sum = 0;
  unsigned at = 1;
  for (int i = 0; i < n; ++i) {
    sum += p[at & 511];
    at = at * 5 + 1;
  }
  return sum;
}
OPAQUE void straddling(struct Packed* p) { p->across = 5; }
OPAQUE void every_fourth(int* p, int n) {
  for (int i = 0; i < n; i += 4) p[i] = i;
}
OPAQUE void backwards(int* p, int n) {
  for (int i = n - 1; i >= 0; i -= 16) p[i] += 1;
}

int main(void) {
  clear_counts();
  scalars(scalar, 100);
  print_counts("scalar", scalar, sizeof scalar);
  members(pair);
  print_counts("pair", pair, sizeof pair);
  one_byte(bytes);
  print_counts("bytes", bytes, sizeof bytes);
  volatile long sink = constant(2) + local(3) + random_order(table, 1000);
  (void)sink;
  print_counts("table", table, sizeof table);
  print_counts("constants", constants, sizeof constants);
  straddling(&packed);
  print_counts("packed", &packed, sizeof packed);
  every_fourth(strided, 4096);
  print_counts("strided", strided, sizeof strided);
  backwards(strided, 4096);
  print_counts("backwards", strided, sizeof strided);
  print_calls();
  return 0;
}
