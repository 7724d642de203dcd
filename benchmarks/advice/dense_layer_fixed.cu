// A fully connected layer of a network in half precision, summed up in float: tiles of the inputs
// and of the weights go through shared memory, and each warp multiplies its part on the tensor
// cores.

#include <cuda_fp16.h>
#include <mma.h>

#include "pair.h"

constexpr int kSize = 2048;  // inputs, outputs and features of each
constexpr int kTile = 64;
constexpr int kDepth = 32;
constexpr int kThreads = 256;
constexpr int kPart = 16;  // rows of a warp and half of its columns

namespace wmma = nvcuda::wmma;

struct Tiles {
  __half inputs[kTile][kDepth];
  __half weights[kDepth][kTile];
};

/// Loads the tiles that begin at feature `first`, eight halves for each thread and tile.
__device__ void load_tiles(const __half* __restrict__ inputs, const __half* __restrict__ weights,
                           int first, Tiles& tiles) {
  const int thread = threadIdx.x;
  const int row = thread / (kDepth / 8), part = thread % (kDepth / 8) * 8;
  *reinterpret_cast<float4*>(&tiles.inputs[row][part]) =
      *reinterpret_cast<const float4*>(&inputs[(blockIdx.y * kTile + row) * kSize + first + part]);
  const int feature = thread / (kTile / 8), column = thread % (kTile / 8) * 8;
  *reinterpret_cast<float4*>(&tiles.weights[feature][column]) = *reinterpret_cast<const float4*>(
      &weights[(first + feature) * kSize + blockIdx.x * kTile + column]);
}

__global__ void __launch_bounds__(kThreads)
    apply_layer(const __half* __restrict__ inputs, const __half* __restrict__ weights,
                float* __restrict__ outputs) {
  __shared__ __align__(16) Tiles tiles;
  const int warp = threadIdx.x / 32;
  const int first_row = warp / 2 * kPart;
  const int first_column = warp % 2 * 2 * kPart;
  wmma::fragment<wmma::accumulator, kPart, kPart, kPart, float> sums[2];
  for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
  for (int first = 0; first < kSize; first += kDepth) {
    load_tiles(inputs, weights, first, tiles);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; k += kPart) {
      wmma::fragment<wmma::matrix_a, kPart, kPart, kPart, __half, wmma::row_major> left;
      wmma::load_matrix_sync(left, &tiles.inputs[first_row][k], kDepth);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        wmma::fragment<wmma::matrix_b, kPart, kPart, kPart, __half, wmma::row_major> right;
        wmma::load_matrix_sync(right, &tiles.weights[k][first_column + j * kPart], kTile);
        wmma::mma_sync(sums[j], left, right, sums[j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 2; ++j)
    wmma::store_matrix_sync(&outputs[(blockIdx.y * kTile + first_row) * kSize + blockIdx.x * kTile +
                                     first_column + j * kPart],
                            sums[j], kSize, wmma::mem_row_major);
}

/// Sixteenths between -1/2 and 7/16, so that no sum is rounded in whatever order it is made.
std::vector<__half> make_halves(size_t size, uint32_t seed) {
  std::vector<__half> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = __float2half(float(int(sample::mix(seed + uint32_t(i)) % 16) - 8) / 16);
  return values;
}

int main(int argc, char** argv) {
  constexpr size_t kValues = size_t(kSize) * kSize;
  sample::DeviceArray<__half> inputs(make_halves(kValues, 1)), weights(make_halves(kValues, 2));
  sample::DeviceArray<float> outputs(kValues);
  constexpr int kBlocks = kSize / kTile;
  pair::measure(argc, argv, [&] {
    apply_layer<<<dim3(kBlocks, kBlocks), kThreads>>>(inputs.get(), weights.get(), outputs.get());
  });
  pair::print_checksum(sample::checksum(outputs.to_host()));
}
