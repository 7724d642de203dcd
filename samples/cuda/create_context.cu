// Creates a CUDA context, loads the kernel's module and ends: what a profiler costs at the start.

#include <chrono>

#include "sample.h"

__global__ void do_nothing() {}

int main() {
  const auto start = std::chrono::steady_clock::now();
  do_nothing<<<1, 1>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - start;
  std::printf("checksum 0\nsetup_seconds %.6f\n", setup.count());
}
