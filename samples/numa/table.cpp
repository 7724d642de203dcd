// A table that the main thread fills, and in which all threads look things up.
#include "sample.h"

namespace {

constexpr unsigned kEntries = 1 << 12, kLookups = 60000000;

int threads;
unsigned* table;
unsigned long sums[MAX_THREADS];

void* look_up(void* argument) {
  const auto self = reinterpret_cast<intptr_t>(argument);
  unsigned at = static_cast<unsigned>(self) * 977 + 1;
  unsigned long sum = 0;
  for (unsigned i = kLookups / threads; i > 0; --i) {
    sum += table[at >> 8 & (kEntries - 1)];  // PLANTED: remote-access
    at = at * 1664525 + 1013904223;
  }
  sums[self] = sum;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  table = new unsigned[kEntries];  // PLANTED: remote-access
  for (unsigned i = 0; i < kEntries; ++i) table[i] = i * i % 1009;
  run(threads, look_up);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  std::printf("checksum %lu\n", sum);
  delete[] table;
}
