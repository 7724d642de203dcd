// Clean: OpenMP loops whose threads fill what they work on later.
#include <omp.h>

#include <memory>

#include "sample.h"

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  omp_set_num_threads(threads);
  constexpr long kCells = 1 << 19, kRounds = 400;
  std::unique_ptr<double, decltype(&std::free)> memory(
      static_cast<double*>(pages(kCells * sizeof(double))), std::free);
  double* cells = memory.get();
#pragma omp parallel for schedule(static)
  for (long i = 0; i < kCells; ++i) cells[i] = static_cast<double>(i % 5);
#pragma omp parallel
  for (long round = 0; round < kRounds; ++round) {
#pragma omp for schedule(static) nowait
    for (long i = 0; i < kCells; ++i) cells[i] = cells[i] * 0.25 + 3;
  }
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (long i = 0; i < kCells; ++i) sum += cells[i];
  std::printf("checksum %.6f\n", sum);
}
