// Follows particles and keeps their paths. Each thread writes its own row, so that the 32 threads
// of a warp write to 32 places far apart.

#include "sample.h"

constexpr int kParticles = 1 << 20;
constexpr int kSteps = 32;
constexpr int kSubsteps = 32;

__global__ void trace_paths(int steps, uint32_t* __restrict__ paths) {
  const int particle = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t position = sample::mix(particle);
  uint32_t velocity = particle;
  for (int step = 0; step < steps; ++step) {
    for (int substep = 0; substep < kSubsteps; ++substep) {
      velocity = velocity * 1664525u + 1013904223u;
      position += velocity >> 8;
    }
    paths[particle * steps + step] = position;  // PLANTED: memory-transaction-reduction
  }
}

int main(int argc, char** argv) {
  sample::DeviceArray<uint32_t> paths(size_t(kParticles) * kSteps);
  const int launches = sample::launches(argc, argv, 300);
  const float ms = sample::median_ms(
      launches, [&] { trace_paths<<<kParticles / 256, 256>>>(kSteps, paths.get()); });
  sample::report(sample::unordered_checksum(paths.to_host()), ms, launches);
}
