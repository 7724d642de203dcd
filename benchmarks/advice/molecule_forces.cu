// Forces between the atoms of a fluid, each with all atoms of its box. The force of a pair is a
// function of its own, which the compiler has been told to call.

#include "pair.h"

constexpr int kBoxes = 1056;
constexpr int kAtoms = 256;  // in a box, a thread each

struct Atom {
  float x, y, z, charge;
};

struct Force {
  float x = 0, y = 0, z = 0, energy = 0;
};

/// Lennard-Jones and screened Coulomb forces between two atoms.
__device__ __noinline__ Force pair_force(Atom a, Atom b, float cutoff2) {  // advise: here
  const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
  const float r2 = fmaxf(dx * dx + dy * dy + dz * dz, 0.01f);
  const float inverse = rsqrtf(r2);
  const float inverse2 = inverse * inverse;
  const float inverse6 = inverse2 * inverse2 * inverse2;
  const float coulomb = a.charge * b.charge * inverse;
  const float size = (12 * inverse6 * (inverse6 - 0.5f) + coulomb) * inverse2;
  const float kept = r2 < cutoff2 ? 1.0f : 0.0f;
  return {kept * size * dx, kept * size * dy, kept * size * dz,
          kept * (inverse6 * (inverse6 - 1) + coulomb)};
}

__global__ void box_forces(const float4* __restrict__ atoms, float cutoff2,
                           float4* __restrict__ forces) {
  __shared__ float4 box[kAtoms];
  const int index = blockIdx.x * kAtoms + threadIdx.x;
  const float4 own = atoms[index];
  box[threadIdx.x] = own;
  __syncthreads();
  const Atom atom = {own.x, own.y, own.z, own.w};
  Force sum;
#pragma unroll 4
  for (int i = 0; i < kAtoms; ++i) {
    const float4 other = box[i];
    const Force force =
        pair_force(atom, {other.x, other.y, other.z, other.w}, cutoff2);  // advise: here
    sum.x += force.x;
    sum.y += force.y;
    sum.z += force.z;
    sum.energy += force.energy;
  }
  forces[index] = {sum.x, sum.y, sum.z, sum.energy};
}

/// Boxes are 8 wide in each direction.
__global__ void place_atoms(const float* __restrict__ random, float4* __restrict__ atoms) {
  const int index = blockIdx.x * kAtoms + threadIdx.x;
  const float* own = random + 4 * index;
  atoms[index] = {8 * own[0], 8 * own[1], 8 * own[2], own[3] - 0.5f};
}

int main(int argc, char** argv) {
  constexpr size_t kAll = size_t(kBoxes) * kAtoms;
  sample::DeviceArray<float> random(4 * kAll);
  sample::DeviceArray<float4> atoms(kAll), forces(kAll);
  pair::fill(random, 4 * kAll, 1);
  place_atoms<<<kBoxes, kAtoms>>>(random.get(), atoms.get());
  pair::measure(argc, argv,
                [&] { box_forces<<<kBoxes, kAtoms>>>(atoms.get(), 9.0f, forces.get()); });
  std::vector<float> energies;
  for (const float4& force : forces.to_host()) energies.push_back(std::fmin(force.w, 1e4f));
  pair::print_checksum(sample::mean(energies));
}
