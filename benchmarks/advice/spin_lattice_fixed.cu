// One sweep of a three-dimensional Potts-like automaton on a periodic lattice: each site takes a
// new state from its own and those of its 18 nearest neighbours. The extents come with the input
// but are powers of two, so that masks and shifts wrap around the lattice's edges.

#include "pair.h"

constexpr unsigned kLogExtent[3] = {8, 8, 7};

struct Lattice {
  unsigned nx, ny, nz;
  unsigned log_nx, log_ny;
  unsigned sites;
};

struct Site {
  unsigned x, y, z;
};

__device__ Site site_at(const Lattice& lattice, unsigned index) {
  const unsigned row = index >> lattice.log_nx;
  return {index & (lattice.nx - 1), row & (lattice.ny - 1), row >> lattice.log_ny};
}

/// Takes coordinates up to twice the extents.
__device__ unsigned index_of(const Lattice& lattice, unsigned x, unsigned y, unsigned z) {
  x &= lattice.nx - 1;
  y &= lattice.ny - 1;
  z &= lattice.nz - 1;
  return (z * lattice.ny + y) * lattice.nx + x;
}

__device__ unsigned neighbours(const Lattice& lattice, const uint8_t* __restrict__ states,
                               Site site) {
  unsigned sum = 0;
#pragma unroll
  for (int dz = -1; dz <= 1; ++dz)
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
      for (int dx = -1; dx <= 1; ++dx) {
        const int distance = dx * dx + dy * dy + dz * dz;
        if (distance == 0 || distance == 3) continue;
        const unsigned index = index_of(lattice, site.x + lattice.nx + dx, site.y + lattice.ny + dy,
                                        site.z + lattice.nz + dz);
        sum += (3 - distance) * states[index];
      }
  return sum;
}

__global__ void sweep_lattice(const __grid_constant__ Lattice lattice,
                              const uint8_t* __restrict__ states, uint8_t* __restrict__ next) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lattice.sites) return;
  const unsigned sum = neighbours(lattice, states, site_at(lattice, i));
  const unsigned state = states[i];
  next[i] = (sum >> 3) + 7 * (sum & 7) + (state ^ (state >> 3));
}

int main(int argc, char** argv) {
  const Lattice lattice = {
      1u << kLogExtent[0], 1u << kLogExtent[1],
      1u << kLogExtent[2], kLogExtent[0],
      kLogExtent[1],       1u << (kLogExtent[0] + kLogExtent[1] + kLogExtent[2])};
  sample::DeviceArray<uint32_t> states(lattice.sites / 4), next(lattice.sites / 4);
  pair::fill(states, lattice.sites / 4, 1);
  pair::measure(argc, argv, [&] {
    sweep_lattice<<<lattice.sites / 256, 256>>>(lattice,
                                                reinterpret_cast<const uint8_t*>(states.get()),
                                                reinterpret_cast<uint8_t*>(next.get()));
  });
  pair::print_checksum(sample::checksum(next.to_host()));
}
