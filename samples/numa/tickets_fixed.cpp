// The tickets of tickets.cpp, drawn in large blocks.
#include <atomic>

#include "sample.h"

namespace {

constexpr long kTickets = 400000, kRounds = 400, kBlock = kTickets / MAX_THREADS;

int threads;
std::atomic<unsigned long> next_ticket;
unsigned long sums[MAX_THREADS];

void* draw(void* argument) {
  const auto self = reinterpret_cast<intptr_t>(argument);
  unsigned long sum = 0;
  for (int i = MAX_THREADS / threads; i > 0; --i) {
    const unsigned long first = next_ticket.fetch_add(kBlock, std::memory_order_relaxed);
    for (unsigned long ticket = first; ticket < first + kBlock; ++ticket) sum += scramble(ticket, kRounds);
  }
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
