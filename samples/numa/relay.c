// Pairs of threads that hand a baton to and fro: after each small piece of work one waits for the
// other. Each holds the mutex until it waits, so that it always waits: with a processor for each
// thread as on a busy machine.
#include "sample.h"

enum { TURNS = 20000, PIECE = 8000 };

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
  pthread_mutex_lock(&pair->mutex);
  for (int i = TURNS / threads; i > 0; --i) {
    while (pair->turn != self % 2)
      pthread_cond_wait(&pair->handed, &pair->mutex);  // PLANTED: thread-migration
    sum ^= scramble((unsigned long)(self % 2 + i), PIECE);
    pair->turn = 1 - pair->turn;
    pthread_cond_signal(&pair->handed);
  }
  pthread_mutex_unlock(&pair->mutex);
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
