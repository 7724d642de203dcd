#pragma once

// What the pairs share beside the samples' own helpers: data made on the GPU, a run that lasts as
// long on any GPU, and the lines that every program prints.

#include "../../samples/cuda/sample.h"

namespace pair {

__global__ void fill_words(uint32_t* words, size_t size, uint32_t seed) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    words[i] = sample::mix(seed + uint32_t(i));
}

__global__ void fill_floats(float* values, size_t size, uint32_t seed) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    values[i] = (sample::mix(seed + uint32_t(i)) >> 8) * 0x1p-24f;
}

/// Fills an array with words, the same in every run.
inline void fill(sample::DeviceArray<uint32_t>& words, size_t size, uint32_t seed) {
  fill_words<<<1024, 256>>>(words.get(), size, seed);
}

/// Fills an array with floats in [0, 1), the same in every run.
inline void fill(sample::DeviceArray<float>& values, size_t size, uint32_t seed) {
  fill_floats<<<1024, 256>>>(values.get(), size, seed);
}

/// Calls prepare() and then launch() until the launches alone have taken `share` of what the
/// program's first argument says, in seconds (0.6 if there is none). Prints the median time of a
/// launch by the GPU's clock, what prepare() did not included, and the number of launches.
template <typename Prepare, typename Launch>
void measure(int argc, char** argv, Prepare prepare, Launch launch, double share = 1) {
  const double wanted = share * (argc > 1 ? std::atof(argv[1]) : 0.6);
  if (!(wanted > 0)) {
    std::fprintf(stderr, "usage: %s [SECONDS]\n", argv[0]);
    std::exit(2);
  }
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<float> times;
  for (double passed = 0; passed < wanted || times.size() < 5; passed += times.back() / 1e3) {
    prepare();
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&times.emplace_back(), start, stop));
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  std::sort(times.begin(), times.end());
  std::printf("time_us %.3f\nlaunches %zu\n", times[times.size() / 2] * 1e3, times.size());
}

template <typename Launch>
void measure(int argc, char** argv, Launch launch) {
  measure(
      argc, argv, [] {}, launch);
}

/// For results that both programs of a pair compute to the same bit.
inline void print_checksum(uint64_t checksum) {
  std::printf("checksum %llu\n", static_cast<unsigned long long>(checksum));
}

/// For results that may differ within the pair's tolerance.
inline void print_checksum(double checksum) {
  std::printf("checksum %.9g\n", checksum);
}

}  // namespace pair
