// few_blocks.cu with about as many threads in many small blocks, which the GPU can spread over all
// of its multiprocessors.

#include "sample.h"

constexpr int kPaths = 1 << 19;
constexpr int kDarts = 256;

__global__ void count_hits_spread(int paths, int darts, unsigned long long* hits) {
  unsigned count = 0;
  const int step = gridDim.x * blockDim.x;
  for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += step) {
    uint32_t state = sample::mix(path);
    for (int dart = 0; dart < darts; ++dart) {
      state = state * 1664525u + 1013904223u;
      const uint32_t x = state >> 17;
      state = state * 1664525u + 1013904223u;
      const uint32_t y = state >> 17;
      count += x * x + y * y < (1u << 30);
    }
  }
  atomicAdd(hits, count);
}

int main(int argc, char** argv) {
  constexpr int kBlocks = 264;
  constexpr int kThreads = 64;
  sample::DeviceArray<unsigned long long> hits(1);
  const int launches = sample::launches(argc, argv, 300);
  const float ms = sample::median_ms(
      launches, [&] { count_hits_spread<<<kBlocks, kThreads>>>(kPaths, kDarts, hits.get()); });
  sample::report(uint64_t(hits.to_host()[0] / launches), ms, launches);
}
