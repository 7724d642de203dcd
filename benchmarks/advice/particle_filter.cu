// A particle filter that tracks eight targets by their distances to four stations. A thread carries
// one particle, the joint state of all targets, through all steps and sums up its logarithmic
// likelihood. The launch bounds ask for eight blocks on a multiprocessor, which leaves 32 registers
// to a thread, too few for the state; and the grid has three blocks for each multiprocessor anyway.

#include "pair.h"

constexpr int kTargets = 8;
constexpr int kStations = 4;
constexpr int kSteps = 384;
constexpr int kThreads = 256;
constexpr int kBlocks = 3 * 132;
constexpr float kTimeStep = 0.05f;

struct Motion {
  float x, y, vx, vy;
};

struct Station {
  float x, y;
};

__constant__ Station stations[kStations] = {{-4, -3}, {5, -2}, {3, 6}, {-2, 4}};

/// Noise in [-0.5, 0.5).
__device__ float noise(uint32_t& state) {
  state = state * 1664525u + 1013904223u;   // advise: here
  return float(int32_t(state)) * 0x1p-32f;  // advise: here
}

__device__ float misfit(const Motion& target, const float* __restrict__ distances) {
  float sum = 0;
#pragma unroll
  for (int s = 0; s < kStations; ++s) {
    const float dx = target.x - stations[s].x;             // advise: here
    const float dy = target.y - stations[s].y;             // advise: here
    const float error = dx * dx + dy * dy - distances[s];  // advise: here
    sum += error * error;                                  // advise: here
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads, 8)
    weigh_particles(const float* __restrict__ distances, int steps, float* __restrict__ likelihoods,
                    float* __restrict__ positions) {
  const int particle = blockIdx.x * blockDim.x + threadIdx.x;
  const int particles = gridDim.x * blockDim.x;
  uint32_t random = sample::mix(particle);
  Motion targets[kTargets];
#pragma unroll
  for (int i = 0; i < kTargets; ++i)
    targets[i] = {3 * noise(random), 3 * noise(random), noise(random), noise(random)};

  float likelihood = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kTargets; ++i) {
      Motion& target = targets[i];
      target.vx += noise(random);                                                   // advise: here
      target.vy += noise(random);                                                   // advise: here
      target.x += kTimeStep * target.vx;                                            // advise: here
      target.y += kTimeStep * target.vy;                                            // advise: here
      likelihood -= misfit(target, distances + (step * kTargets + i) * kStations);  // advise: here
    }
  }
  likelihoods[particle] = likelihood;
#pragma unroll
  for (int i = 0; i < kTargets; ++i) {
    positions[(2 * i) * particles + particle] = targets[i].x;
    positions[(2 * i + 1) * particles + particle] = targets[i].y;
  }
}

int main(int argc, char** argv) {
  constexpr int kParticles = kBlocks * kThreads;
  sample::DeviceArray<float> distances(sample::random_floats(kSteps * kTargets * kStations, 1));
  sample::DeviceArray<float> likelihoods(kParticles);
  sample::DeviceArray<float> positions(size_t(2) * kTargets * kParticles);
  pair::measure(argc, argv, [&] {
    weigh_particles<<<kBlocks, kThreads>>>(distances.get(), kSteps, likelihoods.get(),
                                           positions.get());
  });
  pair::print_checksum(sample::checksum(likelihoods.to_host()) +
                       sample::checksum(positions.to_host()));
}
