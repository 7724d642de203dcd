// The tickets of tickets.cpp, drawn in large blocks.
#include <atomic>

#include "sample.h"

namespace {

constexpr long kTickets = 8000000, kBlock = kTickets / MAX_THREADS;

int threads;
std::atomic<long> next_ticket;
unsigned long sums[MAX_THREADS];

unsigned long serve(unsigned long ticket) {
  for (int i = 0; i < 48; ++i) ticket = ticket * 6364136223846793005ul + 1442695040888963407ul;
  return ticket >> 32;
}

void* draw(void* argument) {
  const auto self = reinterpret_cast<intptr_t>(argument);
  unsigned long sum = 0;
  for (int i = MAX_THREADS / threads; i > 0; --i) {
    const long first = next_ticket.fetch_add(kBlock, std::memory_order_relaxed);
    for (long ticket = first; ticket < first + kBlock; ++ticket) sum += serve(static_cast<unsigned long>(ticket));
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
