#pragma once

// What the samples share: checked calls, device memory, repeatable input, timing and output.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) sample::check((call), #call, __FILE__, __LINE__)

namespace sample {

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
  std::exit(1);
}

/// Device memory for `size` values; freed at the end of its scope.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) {
    CHECK(cudaMalloc(&data_, size * sizeof(T)));
    CHECK(cudaMemset(data_, 0, size * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    CHECK(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { CHECK(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    CHECK(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

/// A good 32-bit mixer: every bit of the result depends on every bit of x.
__host__ __device__ inline uint32_t mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/// `size` floats in [0, 1), the same in every run.
inline std::vector<float> random_floats(size_t size, uint32_t seed) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = (mix(seed + uint32_t(i)) >> 8) * 0x1p-24f;
  return values;
}

inline std::vector<uint32_t> random_words(size_t size, uint32_t seed) {
  std::vector<uint32_t> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = mix(seed + uint32_t(i));
  return values;
}

template <typename T>
uint32_t bits_of(T value) {
  static_assert(sizeof(T) == 4);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Of the exact bits of the values at their places.
template <typename T>
uint64_t checksum(const std::vector<T>& values) {
  uint64_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += mix(bits_of(values[i]) + mix(uint32_t(i)));
  return sum;
}

/// Of the exact bits of the values in any order.
template <typename T>
uint64_t unordered_checksum(const std::vector<T>& values) {
  uint64_t sum = 0;
  for (const T& value : values) sum += mix(bits_of(value));
  return sum;
}

/// For values that may differ in rounding: their mean.
inline double mean(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += value;
  return sum / double(values.size());
}

/// How often to launch: the program's first argument, if there is one.
inline int launches(int argc, char** argv, int usual) {
  const int asked = argc > 1 ? std::atoi(argv[1]) : usual;
  if (asked > 0) return asked;
  std::fprintf(stderr, "usage: %s [LAUNCHES]\n", argv[0]);
  std::exit(2);
}

inline int multiprocessors() {
  int count = 0;
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

/// Calls launch() that often; the median of the GPU's times in milliseconds.
template <typename Launch>
float median_ms(int launches, Launch launch) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<float> times(launches);
  for (float& time : times) {
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&time, start, stop));
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

inline void report_time(float ms, int launches) {
  std::printf("kernel_ms %.6f\nlaunches %d\n", ms, launches);
}

/// Prints the lines that every sample prints, with a checksum that must be the same to the bit.
inline void report(uint64_t checksum, float ms, int launches) {
  std::printf("checksum %llu\n", static_cast<unsigned long long>(checksum));
  report_time(ms, launches);
}

/// The same for a checksum that may differ within a tolerance.
inline void report(double checksum, float ms, int launches) {
  std::printf("checksum %.9g\n", checksum);
  report_time(ms, launches);
}

}  // namespace sample
