// One of several parts of a program: how often is a linked module told of?
#include "counts.h"

static int counter;
#ifdef PART
int PART(void) { return ++counter; }
#else
int first(void);
int second(void);
int main(void) {
  counter = first() + second();
  print_calls();
  return 0;
}
#endif
