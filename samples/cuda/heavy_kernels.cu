// A few launches of long kernels: what a profiler costs for each second of kernel time.
// usage: heavy_kernels [LAUNCHES]

#include <chrono>

#include "sample.h"

constexpr int kThreads = 264 * 512;
constexpr int kRounds = 2000000;

__global__ void iterate_map(float* points, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = points[i], y = 1 - x, z = 0.5f * x, w = 0.25f * y;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    x = fmaf(x, 0.75f, y * 0.125f);
    y = fmaf(y, 0.625f, z * 0.25f);
    z = fmaf(z, 0.5f, w * 0.375f);
    w = fmaf(w, 0.875f, 0.0625f);
  }
  points[i] = x + y + z + w;
}

int main(int argc, char** argv) {
  const auto begin = std::chrono::steady_clock::now();
  const int launches = sample::launches(argc, argv, 40);
  sample::DeviceArray<float> points(sample::random_floats(kThreads, 6));
  iterate_map<<<kThreads / 512, 512>>>(points.get(),
                                       1);  // loads the code, which is part of the start
  CHECK(cudaDeviceSynchronize());
  const auto start = std::chrono::steady_clock::now();
  const float ms = sample::median_ms(
      launches, [&] { iterate_map<<<kThreads / 512, 512>>>(points.get(), kRounds); });
  const auto stop = std::chrono::steady_clock::now();
  const std::chrono::duration<double> setup = start - begin, loop = stop - start;
  sample::report(sample::checksum(points.to_host()), ms, launches);
  std::printf("setup_seconds %.6f\nloop_seconds %.6f\n", setup.count(), loop.count());
}
