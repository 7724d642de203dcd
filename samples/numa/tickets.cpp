// Threads that draw each ticket from one shared counter.
#include <atomic>

#include "sample.h"

namespace {

constexpr long kTickets = 400000, kRounds = 400;

int threads;
std::atomic<unsigned long> next_ticket;  // PLANTED: true-sharing
unsigned long sums[MAX_THREADS];

void* draw(void* argument) {
  const auto self = reinterpret_cast<intptr_t>(argument);
  unsigned long sum = 0;
  for (long i = kTickets / MAX_THREADS * (MAX_THREADS / threads); i > 0; --i)
    sum += scramble(next_ticket.fetch_add(1, std::memory_order_relaxed), kRounds);  // PLANTED: true-sharing
  sums[self] = sum;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  run(threads, draw);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  std::printf("checksum %lu\n", sum);
}
