// Evaluates a cheap cost function for many candidates; the function is kept out of line.

#include "sample.h"

constexpr int kThreads = 264 * 256;
constexpr int kCandidates = 4096;

__device__ __noinline__ uint32_t cost(uint32_t candidate, uint32_t target) {
  const uint32_t difference = candidate ^ target;
  return difference * (difference >> 16) + candidate;
}

__global__ void cheapest_candidate(int candidates, uint32_t* best) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t lowest = ~0u;
  uint32_t candidate = thread;
#pragma unroll 1
  for (int i = 0; i < candidates; ++i) {
    candidate = candidate * 1664525u + 1013904223u;
    lowest = min(lowest, cost(candidate, thread));  // PLANTED: function-inlining
  }
  best[thread] = lowest;
}

int main(int argc, char** argv) {
  sample::DeviceArray<uint32_t> best(kThreads);
  const int launches = sample::launches(argc, argv, 500);
  const float ms = sample::median_ms(
      launches, [&] { cheapest_candidate<<<kThreads / 256, 256>>>(kCandidates, best.get()); });
  sample::report(sample::checksum(best.to_host()), ms, launches);
}
