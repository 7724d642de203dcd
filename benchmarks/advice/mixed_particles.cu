// One step of particles in a detector: charged ones turn in the magnetic field and lose energy,
// neutral ones fly on and may scatter. Both kinds stand in the list as they were made, so that
// nearly every warp has some of each and goes both ways.

#include <algorithm>

#include "pair.h"

constexpr int kParticles = 1 << 20;
constexpr int kThreads = 256;
constexpr int kSubsteps = 24;

struct Particle {
  float x, y, u, v;
  float energy;
  uint32_t random;
  int charge;
  int number;
};

__device__ float uniform(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return float(state >> 8) * 0x1p-24f;
}

__device__ void turn_in_field(Particle& p) {
#pragma unroll 1
  for (int i = 0; i < kSubsteps; ++i) {
    const float field = 1 + 0.1f * __sinf(p.x) * __cosf(p.y);
    const float angle = 0.02f * float(p.charge) * field;
    const float turned = p.u - angle * p.v;
    p.v += angle * p.u;
    p.u = turned;
    p.x += 0.1f * p.u;
    p.y += 0.1f * p.v;
    p.energy -= 0.001f * __fdividef(1, 0.1f + p.energy * p.energy);
  }
}

__device__ void fly_and_scatter(Particle& p) {
#pragma unroll 1
  for (int i = 0; i < kSubsteps; ++i) {
    const float length = -0.1f * __logf(uniform(p.random) + 1e-6f);
    p.x += length * p.u;
    p.y += length * p.v;
    const float cosine = 1 - 0.05f * uniform(p.random);
    const float sine = __fsqrt_rn(1 - cosine * cosine);
    const float turned = cosine * p.u - sine * p.v;
    p.v = cosine * p.v + sine * p.u;
    p.u = turned;
    p.energy *= 0.98f + 0.02f * cosine;
  }
}

__global__ void step_particles(const Particle* __restrict__ particles,
                               Particle* __restrict__ moved) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  Particle particle = particles[index];
  if (particle.charge != 0) {  // advise: here
    turn_in_field(particle);
  } else {
    fly_and_scatter(particle);
  }
  moved[index] = particle;
}

std::vector<Particle> make_particles() {
  std::vector<Particle> particles(kParticles);
  for (int i = 0; i < kParticles; ++i) {
    const uint32_t random = sample::mix(i);
    particles[i] = {float(random % 1000) / 100,
                    float(random % 777) / 100,
                    0.6f,
                    0.8f,
                    1 + float(random % 99) / 99,
                    random,
                    random >> 16 & 1 ? 1 : 0,
                    i};
  }
  return particles;
}

int main(int argc, char** argv) {
  sample::DeviceArray<Particle> particles(make_particles());
  sample::DeviceArray<Particle> moved(kParticles);
  pair::measure(argc, argv, [&] {
    step_particles<<<kParticles / kThreads, kThreads>>>(particles.get(), moved.get());
  });
  std::vector<float> energies(kParticles);
  for (const Particle& particle : moved.to_host()) energies[particle.number] = particle.energy;
  pair::print_checksum(sample::checksum(energies));
}
