// The look-ups of table.cpp, each thread's in a copy of its own.
#include <cstring>

#include "sample.h"

namespace {

constexpr unsigned kEntries = 1 << 12, kLookups = 60000000;

int threads;
unsigned* table;
unsigned long sums[MAX_THREADS];

void* look_up(void* argument) {
  const auto self = reinterpret_cast<intptr_t>(argument);
  unsigned at = static_cast<unsigned>(self) * 977 + 1;
  auto* own = static_cast<unsigned*>(pages(kEntries * sizeof(unsigned)));
  std::memcpy(own, table, kEntries * sizeof(unsigned));
  unsigned long sum = 0;
  for (unsigned i = kLookups / threads; i > 0; --i) {
    sum += own[at >> 8 & (kEntries - 1)];
    at = at * 1664525 + 1013904223;
  }
  sums[self] = sum;
  std::free(own);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  threads = threads_from(argc, argv);
  table = new unsigned[kEntries];
  for (unsigned i = 0; i < kEntries; ++i) table[i] = i * i % 1009;
  run(threads, look_up);
  unsigned long sum = 0;
  for (int i = 0; i < threads; ++i) sum += sums[i];
  std::printf("checksum %lu\n", sum);
  delete[] table;
}
