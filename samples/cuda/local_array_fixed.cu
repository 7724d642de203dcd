// local_array.cu with the loop over the window's slots unrolled: each slot is named by a constant,
// and the window stays in registers.

#include "sample.h"

constexpr int kSignals = 264 * 128;
constexpr int kTimes = 8192;
constexpr int kWindow = 16;

__global__ void smooth_signals_in_registers(int times, uint32_t* __restrict__ highest) {
  const int signal = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t window[kWindow] = {};
  uint32_t state = sample::mix(signal);
  uint32_t sum = 0;
  uint32_t peak = 0;
  for (int t = 0; t < times; t += kWindow) {  // times is a multiple of kWindow
#pragma unroll
    for (int slot = 0; slot < kWindow; ++slot) {
      state = state * 1664525u + 1013904223u;
      const uint32_t value = state >> 8;
      sum += value - window[slot];
      window[slot] = value;
      peak = max(peak, sum);
    }
  }
  highest[signal] = peak;
}

int main(int argc, char** argv) {
  sample::DeviceArray<uint32_t> highest(kSignals);
  const int launches = sample::launches(argc, argv, 600);
  const float ms = sample::median_ms(launches, [&] {
    smooth_signals_in_registers<<<kSignals / 128, 128>>>(kTimes, highest.get());
  });
  sample::report(sample::checksum(highest.to_host()), ms, launches);
}
