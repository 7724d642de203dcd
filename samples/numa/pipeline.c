// A pipeline of two stages with as many threads each, though the first has three times the work of
// the second.
#include <semaphore.h>

#include "sample.h"

enum { BATCHES = 48, CELLS = 1 << 12, UNIT = 250 };

static sem_t ready[BATCHES];
static unsigned long results[BATCHES];
static int parsers, packers;

// The result depends on the seed only, so that it does not matter who does what.
static unsigned long churn(unsigned long seed, unsigned long* cells, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < CELLS; ++i) {
      seed = seed * 6364136223846793005ul + 1442695040888963407ul;
      cells[seed >> 52] += seed;
    }
  return seed;
}

static unsigned long* fresh_cells(void) {
  unsigned long* cells = (unsigned long*)pages(CELLS * sizeof *cells);
  for (int i = 0; i < CELLS; ++i) cells[i] = 0;
  return cells;
}

static void* parse(void* argument) {  // PLANTED: load-imbalance
  unsigned long* cells = fresh_cells();
  for (long batch = (long)(intptr_t)argument; batch < BATCHES; batch += parsers) {
    results[batch] = churn((unsigned long)batch, cells, 3 * UNIT);
    sem_post(&ready[batch]);
  }
  free(cells);
  return NULL;
}

static void* pack(void* argument) {  // PLANTED: load-imbalance
  unsigned long* cells = fresh_cells();
  for (long batch = (long)(intptr_t)argument - parsers; batch < BATCHES; batch += packers) {
    while (sem_wait(&ready[batch]) != 0) continue;
    results[batch] += churn(results[batch], cells, UNIT);
  }
  free(cells);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  parsers = packers = threads / 2 > 0 ? threads / 2 : 1;
  for (int i = 0; i < BATCHES; ++i) sem_init(&ready[i], 0, 0);
  pthread_t team[MAX_THREADS + 1];
  start(team, 0, parsers, parse);
  start(team, parsers, parsers + packers, pack);
  join(team, parsers + packers);
  unsigned long sum = 0;
  for (int i = 0; i < BATCHES; ++i) sum += results[i];
  printf("checksum %lu\n", sum);
  return 0;
}
