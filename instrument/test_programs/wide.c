// Vectors of 32 bytes count as blocks: one access for each 8 bytes. To be compiled for AVX2.
#include "counts.h"

typedef double Wide __attribute__((vector_size(32)));
ALONE Wide once[2];
ALONE double many[1024], scattered[1024];

OPAQUE void copy_one(Wide* p) { p[0] = p[1]; }
OPAQUE void scale(double* p) {
  for (int i = 0; i < 1024; ++i) p[i] *= 2;
}
OPAQUE void some(double* p, const unsigned char* which) {
  for (int i = 0; i < 10; ++i) *(Wide*)(p + 4 * which[i]) *= 2;
}

int main(void) {
  static const unsigned char which[10] = {1, 200, 4, 4, 9, 9, 13, 250, 90, 1};
  clear_counts();
  copy_one(once);
  print_counts("once", once, sizeof once);
  scale(many);
  print_counts("many", many, sizeof many);
  some(scattered, which);
  print_counts("scattered", scattered, sizeof scattered);
  return 0;
}
