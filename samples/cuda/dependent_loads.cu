// Follows the level of a signal in several frequency bands, one channel for each thread. Each
// sample is fetched only when the work on the one before is done.

#include "sample.h"

constexpr int kChannels = 132 * 128;
constexpr int kTimes = 1024;
constexpr int kBands = 32;
constexpr int kOversampling = 24;

struct Bands {
  float decay[kBands];
};

__global__ void track_levels(const float* __restrict__ samples, Bands bands, float gain, int times,
                             float* __restrict__ loudest) {
  const int channels = gridDim.x * blockDim.x;
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  float level[kBands] = {};
  for (int t = 0; t < times; ++t) {
    const float input = gain * samples[size_t(t) * channels + channel];  // PLANTED: code-reordering
#pragma unroll 1
    for (int step = 0; step < kOversampling; ++step)
      for (int b = 0; b < kBands; ++b) level[b] = fmaf(level[b], bands.decay[b], input);
  }
  float result = 0;
  for (float one : level) result = fmaxf(result, one);
  loudest[channel] = result;
}

int main(int argc, char** argv) {
  Bands bands;
  for (int b = 0; b < kBands; ++b) bands.decay[b] = 0.9f - 0.01f * float(b);
  sample::DeviceArray<float> samples(sample::random_floats(size_t(kTimes) * kChannels, 2));
  sample::DeviceArray<float> loudest(kChannels);
  const int launches = sample::launches(argc, argv, 150);
  const float ms = sample::median_ms(launches, [&] {
    track_levels<<<kChannels / 128, 128>>>(samples.get(), bands, 0.5f, kTimes, loudest.get());
  });
  sample::report(sample::checksum(loudest.to_host()), ms, launches);
}
