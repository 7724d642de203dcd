// The middle of a large Fourier transform: a matrix of complex numbers is transposed, each number
// turned by its twiddle factor on the way. A tile of it goes through shared memory, so that
// threads read and write along rows.

#include "pair.h"

constexpr int kSize = 4096;
constexpr int kTile = 32;
constexpr int kRows = 8;  // of threads

/// The value turned by an angle of row * column parts of a full turn of kSize * kSize.
__device__ float2 turned(float2 value, int row, int column) {
  float sine, cosine;
  __sincosf(6.2831853f * float(row) * float(column) / (float(kSize) * kSize), &sine, &cosine);
  return {value.x * cosine - value.y * sine, value.x * sine + value.y * cosine};
}

__global__ void transpose_spectrum(const float2* __restrict__ from, float2* __restrict__ to) {
  __shared__ float2 tile[kTile][kTile + 1];
  const int column = blockIdx.x * kTile + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTile; i += kRows) {
    const int row = blockIdx.y * kTile + threadIdx.y + i;
    tile[threadIdx.y + i][threadIdx.x] = turned(from[row * kSize + column], row, column);
  }
  __syncthreads();
  const int row = blockIdx.y * kTile + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTile; i += kRows) {
    const int written = blockIdx.x * kTile + threadIdx.y + i;
    to[written * kSize + row] = tile[threadIdx.x][threadIdx.y + i];
  }
}

int main(int argc, char** argv) {
  constexpr size_t kFloats = size_t(2) * kSize * kSize;
  sample::DeviceArray<float> from(kFloats), to(kFloats);
  pair::fill(from, kFloats, 1);
  constexpr int kTiles = kSize / kTile;
  pair::measure(argc, argv, [&] {
    transpose_spectrum<<<dim3(kTiles, kTiles), dim3(kTile, kRows)>>>(
        reinterpret_cast<const float2*>(from.get()), reinterpret_cast<float2*>(to.get()));
  });
  pair::print_checksum(sample::checksum(to.to_host()));
}
