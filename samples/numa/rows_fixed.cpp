// The rows of rows.cpp, dealt out by the page, each of which is filled by the thread that gets it.
#include <thread>
#include <vector>

#include "sample.h"

namespace {

constexpr long kRows = 512, kColumns = 64, kRounds = 8000, kRowsOfPage = PAGE / (kColumns * 8);

double smooth(double* row) {
  double sum = 0;
  for (long i = 0; i < kColumns; ++i) {
    row[i] = row[i] * 0.5 + 1;
    sum += row[i];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  double* rows = static_cast<double*>(pages(kRows * kColumns * sizeof(double)));
  std::vector<double> sums(threads);
  std::vector<std::thread> team;
  for (int self = 0; self < threads; ++self)
    team.emplace_back([=, &sums] {
      double sum = 0;
      const auto each_row = [&](auto visit) {
        for (long page = self; page < kRows / kRowsOfPage; page += threads)
          for (long row = 0; row < kRowsOfPage; ++row) visit(page * kRowsOfPage + row);
      };
      each_row([&](long row) {
        for (long i = row * kColumns; i < (row + 1) * kColumns; ++i) rows[i] = static_cast<double>(i % 7);
      });
      for (long round = 0; round < kRounds; ++round)
        each_row([&](long row) { sum += smooth(rows + row * kColumns); });
      sums[self] = sum;
    });
  for (std::thread& thread : team) thread.join();
  double sum = 0;
  for (double part : sums) sum += part;
  std::printf("checksum %.6f\n", sum);
  std::free(rows);
}
