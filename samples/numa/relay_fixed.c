// The relay of relay.c, with the baton handed on only a few times.
#include "sample.h"

enum { TURNS = 20000, PIECE = 8000, HANDOVERS = 2 };

struct Pair {
  pthread_mutex_t mutex;
  pthread_cond_t handed;
  int turn;
  char padding[PAGE - sizeof(pthread_mutex_t) - sizeof(pthread_cond_t) - sizeof(int)];
};
static struct Pair pairs[MAX_THREADS / 2] __attribute__((aligned(PAGE)));
static int threads;
static unsigned long sums[MAX_THREADS];

static void* work(void* argument) {
  const int self = (int)(intptr_t)argument;
  struct Pair* pair = &pairs[self / 2];
  unsigned long sum = 0;
  const int turns = TURNS / threads;
  for (int from = turns; from > 0; from -= turns / HANDOVERS) {
    pthread_mutex_lock(&pair->mutex);
    while (pair->turn != self % 2)
      pthread_cond_wait(&pair->handed, &pair->mutex);
    pair->turn = 1 - pair->turn;
    pthread_cond_signal(&pair->handed);
    pthread_mutex_unlock(&pair->mutex);
    for (int i = from; i > from - turns / HANDOVERS; --i)
      sum ^= scramble((unsigned long)(self % 2 + i), PIECE);
  }
  sums[self] = sum;
  return NULL;
}

int main(int argc, char** argv) {
  threads = threads_from(argc, argv) & ~1;
  for (int i = 0; i < threads / 2; ++i) {
    pthread_mutex_init(&pairs[i].mutex, NULL);
    pthread_cond_init(&pairs[i].handed, NULL);
  }
  run(threads, work);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  printf("checksum %lu\n", sum);
  return 0;
}
