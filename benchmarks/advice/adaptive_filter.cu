// Follows many sensor signals with an adaptive filter. Now and then, where the error has grown,
// a thread tunes its filter anew by solving a system of ten equations in registers. That rare path
// decides how many registers every thread gets, and so how few warps fit on a multiprocessor to
// hide each other's waiting for the samples.

#include "pair.h"

constexpr int kThreads = 128;
constexpr int kSamples = 512;
constexpr int kOrder = 10;
constexpr int kResident = 8;  // blocks that a multiprocessor should hold

struct Filter {
  float level = 0, trend = 0, power = 1, gain = 0.5f;
};

/// The new gain: the first unknown of a symmetric system made of the filter's state.
__device__ float tuned_gain(const Filter& filter) {
  float matrix[kOrder][kOrder], right[kOrder];
#pragma unroll
  for (int i = 0; i < kOrder; ++i) {
    right[i] = filter.level + float(i) * filter.trend;
#pragma unroll
    for (int j = 0; j < kOrder; ++j)
      matrix[i][j] = __fdividef(filter.power + float(i * j) * filter.trend * filter.trend,
                                1.0f + float(i + j) + filter.gain) +
                     (i == j ? 10.0f + filter.power : 0.0f);
  }
#pragma unroll
  for (int k = 0; k < kOrder; ++k) {
    const float inverse = __fdividef(1.0f, matrix[k][k]);
#pragma unroll
    for (int i = 0; i < kOrder; ++i) {
      if (i == k) continue;
      const float factor = matrix[i][k] * inverse;
      right[i] -= factor * right[k];
#pragma unroll
      for (int j = k; j < kOrder; ++j) matrix[i][j] -= factor * matrix[k][j];
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kOrder; ++i) sum += __fdividef(right[i], matrix[i][i]);
  return 0.25f + 0.5f * __fdividef(1.0f, 1.0f + sum * sum);
}

__global__ void __launch_bounds__(kThreads)  // advise: here
    follow_signals(const float* signals, int count, int samples, float threshold, float* levels) {
  const int step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int signal = blockIdx.x * blockDim.x + threadIdx.x; signal < count; signal += step) {
    Filter filter;
    float error = 0;
#pragma unroll 1
    for (int i = 0; i < samples; ++i) {
      const float surprise = signals[i * count + signal] - filter.level;
      filter.level += filter.trend + filter.gain * surprise;
      filter.trend += 0.1f * filter.gain * surprise;
      filter.power = 0.9f * filter.power + 0.1f * surprise * surprise;
      error += fabsf(surprise);
      if (i % 256 == 255 && error > threshold) {
        filter.gain = tuned_gain(filter);
        error = 0;
      }
      levels[i % 4 * count + signal] = filter.level;
    }
  }
}

int main(int argc, char** argv) {
  const int count = 16 * sample::multiprocessors() * kThreads;
  sample::DeviceArray<float> signals(size_t(count) * kSamples), levels(size_t(count) * 4);
  pair::fill(signals, size_t(count) * kSamples, 1);
  int resident = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, follow_signals, kThreads, 0));
  const int blocks = std::min(resident, kResident) * sample::multiprocessors();
  pair::measure(argc, argv, [&] {
    follow_signals<<<blocks, kThreads>>>(signals.get(), count, kSamples, 10.0f, levels.get());
  });
  pair::print_checksum(sample::mean(levels.to_host()));
}
