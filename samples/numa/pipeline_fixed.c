// The pipeline of pipeline.c, with three quarters of the threads for the first stage, which has three
// times the work of the second. Two threads do all of it.
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

static void* parse(void* argument) {
  unsigned long* cells = fresh_cells();
  for (long batch = (long)(intptr_t)argument; batch < BATCHES; batch += parsers) {
    results[batch] = churn((unsigned long)batch, cells, 3 * UNIT);
    sem_post(&ready[batch]);
  }
  free(cells);
  return NULL;
}

static void* pack(void* argument) {
  unsigned long* cells = fresh_cells();
  for (long batch = (long)(intptr_t)argument - parsers; batch < BATCHES; batch += packers) {
    while (sem_wait(&ready[batch]) != 0) continue;
    results[batch] += churn(results[batch], cells, UNIT);
  }
  free(cells);
  return NULL;
}

static void* parse_and_pack(void* argument) {
  unsigned long* cells = fresh_cells();
  for (long batch = (long)(intptr_t)argument; batch < BATCHES; batch += parsers) {
    results[batch] = churn((unsigned long)batch, cells, 3 * UNIT);
    results[batch] += churn(results[batch], cells, UNIT);
  }
  free(cells);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  packers = threads / 4;
  parsers = threads - packers;
  for (int i = 0; i < BATCHES; ++i) sem_init(&ready[i], 0, 0);
  pthread_t team[MAX_THREADS + 1];
  start(team, 0, parsers, packers > 0 ? parse : parse_and_pack);
  start(team, parsers, parsers + packers, pack);
  join(team, parsers + packers);
  unsigned long sum = 0;
  for (int i = 0; i < BATCHES; ++i) sum += results[i];
  printf("checksum %lu\n", sum);
  return 0;
}
