#include "add_up.h"

long add_up(const long* numbers, int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += *(volatile const long*)&numbers[i];
  return sum;
}
