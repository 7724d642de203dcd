// Temperatures of a chip under a power map: explicit steps of the heat equation, several for each
// visit of a tile, which stays in shared memory with its halo meanwhile. All is in float.

#include "pair.h"

constexpr int kSize = 2048;
constexpr int kTile = 32;  // with the halo
constexpr int kSteps = 6;  // for each visit
constexpr int kInner = kTile - 2 * kSteps;
constexpr int kRows = 8;  // of threads

struct Material {
  float capacity, conduct_x, conduct_y, conduct_z;
};

__device__ float update(const Material& chip, float centre, float west, float east, float north,
                        float south, float power) {
  return centre + chip.capacity * (power + (north + south - 2.0f * centre) * chip.conduct_y +
                                   (east + west - 2.0f * centre) * chip.conduct_x +
                                   (0.8f - centre) * chip.conduct_z);
}

__global__ void heat_tiles(const __grid_constant__ Material chip, const float* __restrict__ from,
                           const float* __restrict__ power, float* __restrict__ to) {
  __shared__ float tiles[2][kTile][kTile];
  const int x = int(blockIdx.x) * kInner - kSteps + threadIdx.x;
  const int first_y = int(blockIdx.y) * kInner - kSteps;
  const int clamped_x = min(max(x, 0), kSize - 1);
  float heat[kTile / kRows];
#pragma unroll
  for (int i = 0; i < kTile / kRows; ++i) {
    const int row = threadIdx.y + i * kRows;
    const int at = min(max(first_y + row, 0), kSize - 1) * kSize + clamped_x;
    tiles[0][row][threadIdx.x] = from[at];
    heat[i] = power[at];
  }
  __syncthreads();

  const int column = threadIdx.x;
  const int west = max(column - 1, 0), east = min(column + 1, kTile - 1);
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    const float(*old)[kTile] = tiles[step % 2];
    float(*now)[kTile] = tiles[(step + 1) % 2];
#pragma unroll
    for (int i = 0; i < kTile / kRows; ++i) {
      const int row = threadIdx.y + i * kRows;
      now[row][column] =
          update(chip, old[row][column], old[row][west], old[row][east],
                 old[max(row - 1, 0)][column], old[min(row + 1, kTile - 1)][column], heat[i]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kTile / kRows; ++i) {
    const int row = threadIdx.y + i * kRows;
    const int y = first_y + row;
    const bool inner = row >= kSteps && row < kTile - kSteps && column >= kSteps &&
                       column < kTile - kSteps && x < kSize && y < kSize;
    if (inner) to[y * kSize + x] = tiles[kSteps % 2][row][column];
  }
}

int main(int argc, char** argv) {
  constexpr size_t kCells = size_t(kSize) * kSize;
  sample::DeviceArray<float> from(kCells), power(kCells), to(kCells);
  pair::fill(from, kCells, 1);
  pair::fill(power, kCells, 2);
  const Material chip = {0.5f, 0.1f, 0.12f, 0.05f};
  const int tiles = (kSize + kInner - 1) / kInner;
  pair::measure(argc, argv, [&] {
    heat_tiles<<<dim3(tiles, tiles), dim3(kTile, kRows)>>>(chip, from.get(), power.get(), to.get());
  });
  pair::print_checksum(sample::mean(to.to_host()));
}
