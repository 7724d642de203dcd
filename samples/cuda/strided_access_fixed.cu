// strided_access.cu with the paths stored step by step, so that a warp writes 32 neighbours.

#include "sample.h"

constexpr int kParticles = 1 << 20;
constexpr int kSteps = 32;
constexpr int kSubsteps = 32;

__global__ void trace_paths_by_step(int steps, uint32_t* __restrict__ paths) {
  const int particles = gridDim.x * blockDim.x;
  const int particle = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t position = sample::mix(particle);
  uint32_t velocity = particle;
  for (int step = 0; step < steps; ++step) {
    for (int substep = 0; substep < kSubsteps; ++substep) {
      velocity = velocity * 1664525u + 1013904223u;
      position += velocity >> 8;
    }
    paths[step * particles + particle] = position;
  }
}

int main(int argc, char** argv) {
  sample::DeviceArray<uint32_t> paths(size_t(kParticles) * kSteps);
  const int launches = sample::launches(argc, argv, 300);
  const float ms = sample::median_ms(
      launches, [&] { trace_paths_by_step<<<kParticles / 256, 256>>>(kSteps, paths.get()); });
  sample::report(sample::unordered_checksum(paths.to_host()), ms, launches);
}
