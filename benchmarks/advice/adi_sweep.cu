// Implicit diffusion in small tiles by alternating directions: a warp solves the tridiagonal
// systems of its tile, first along the columns and then along the rows, a thread each, a few times
// over. The tile's rows are 36 floats apart, a whole number of float4s: along the rows, four
// threads of a warp meet in each bank.

#include "pair.h"

constexpr int kTile = 32;
constexpr int kStride = 36;
constexpr int kWarps = 2;
constexpr int kSweeps = 8;
constexpr int kTiles = 1 << 14;

/// The factors of the forward elimination; they are the same for all systems.
struct Elimination {
  float inverse[kTile];  // of the pivots
  float upper[kTile];
};

/// Solves the system whose right-hand side begins at `line`, with values `stride` apart, in place.
__device__ void solve(const Elimination& factors, float coupling, float* line, int stride) {
  float before = 0;
#pragma unroll 8
  for (int k = 0; k < kTile; ++k) {
    before = (line[k * stride] + coupling * before) * factors.inverse[k];  // advise: here
    line[k * stride] = before;                                             // advise: here
  }
  float after = 0;
#pragma unroll 8
  for (int k = kTile - 1; k >= 0; --k) {
    after = line[k * stride] + factors.upper[k] * after;  // advise: here
    line[k * stride] = after;                             // advise: here
  }
}

__global__ void diffuse_tiles(const __grid_constant__ Elimination factors, float coupling,
                              const float* __restrict__ from, float* __restrict__ to) {
  __shared__ float tiles[kWarps][kTile * kStride];
  const int lane = threadIdx.x;
  float* tile = tiles[threadIdx.y];
  const int first = (blockIdx.x * kWarps + threadIdx.y) * kTile * kTile;
#pragma unroll 8
  for (int row = 0; row < kTile; ++row)
    tile[row * kStride + lane] = from[first + row * kTile + lane];
  __syncwarp();
#pragma unroll 1
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    solve(factors, coupling, tile + lane, kStride);
    __syncwarp();
    solve(factors, coupling, tile + lane * kStride, 1);
    __syncwarp();
  }
#pragma unroll 8
  for (int row = 0; row < kTile; ++row) to[first + row * kTile + lane] = tile[row * kStride + lane];
}

/// Of the matrix with 1 + 2 coupling on the diagonal and -coupling beside it.
Elimination eliminate(float coupling) {
  Elimination factors;
  float upper = 0;
  for (int k = 0; k < kTile; ++k) {
    factors.inverse[k] = 1 / (1 + 2 * coupling - coupling * upper);
    upper = coupling * factors.inverse[k];
    factors.upper[k] = upper;
  }
  return factors;
}

int main(int argc, char** argv) {
  constexpr float kCoupling = 0.3f;
  constexpr size_t kCells = size_t(kTiles) * kTile * kTile;
  sample::DeviceArray<float> from(kCells), to(kCells);
  pair::fill(from, kCells, 1);
  const Elimination factors = eliminate(kCoupling);
  pair::measure(argc, argv, [&] {
    diffuse_tiles<<<kTiles / kWarps, dim3(kTile, kWarps)>>>(factors, kCoupling, from.get(),
                                                            to.get());
  });
  pair::print_checksum(sample::checksum(to.to_host()));
}
