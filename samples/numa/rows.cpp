// Rows dealt out to the threads one by one. A page holds rows of eight threads, and the main thread
// has filled them all.
#include <thread>
#include <vector>

#include "sample.h"

namespace {

constexpr long kRows = 512, kColumns = 64, kRounds = 8000;

double smooth(double* row) {
  double sum = 0;
  for (long i = 0; i < kColumns; ++i) {
    row[i] = row[i] * 0.5 + 1;  // PLANTED: remote-access
    sum += row[i];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  double* rows = static_cast<double*>(pages(kRows * kColumns * sizeof(double)));  // PLANTED: remote-access
  for (long i = 0; i < kRows * kColumns; ++i) rows[i] = static_cast<double>(i % 7);
  std::vector<double> sums(threads);
  std::vector<std::thread> team;
  for (int self = 0; self < threads; ++self)
    team.emplace_back([=, &sums] {
      double sum = 0;
      for (long round = 0; round < kRounds; ++round)
        for (long row = self; row < kRows; row += threads) sum += smooth(rows + row * kColumns);
      sums[self] = sum;
    });
  for (std::thread& thread : team) thread.join();
  double sum = 0;
  for (double part : sums) sum += part;
  std::printf("checksum %.6f\n", sum);
  std::free(rows);
}
