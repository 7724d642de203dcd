// For tests of whole builds: a loop of 1000 writes that no compiler leaves out, and the count of them.
#ifdef __SANITIZE_THREAD__
#error "the program must not see how it is instrumented"
#endif
void print_counts(const char* name, const void* from, unsigned long size);

static long table[1024] __attribute__((aligned(64)));
long add_up(const long* numbers, int n);

int main(void) {
  for (int i = 0; i < 1000; ++i) *(volatile long*)&table[i] = i;
  const long sum = add_up(table, 1000);
  print_counts("table", table, sizeof table);
  return sum == 499500 ? 0 : 1;
}
