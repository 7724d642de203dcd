// The sums of absolute differences between the features of two sets of images, each with each, in
// tiles of 64 by 64 that go through shared memory, 16 features at a time. The values of a tile pass
// through registers on their way, and the whole block waits for them.

#include "pair.h"

constexpr int kLeft = 768;  // images
constexpr int kRight = 704;
constexpr int kFeatures = 16384;
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kEach = 4;                 // rows and columns of a thread
constexpr int kThreads = kTile / kEach;  // in each direction
constexpr int kQuads = kTile / 4;        // float4s of a tile's row

struct Tile {
  float4 left[kDepth][kQuads];
  float4 right[kDepth][kQuads];
};

__device__ void add_differences(const Tile& tile, float (&sums)[kEach][kEach]) {
#pragma unroll 4
  for (int k = 0; k < kDepth; ++k) {
    const float4 a = tile.left[k][threadIdx.y];
    const float4 b = tile.right[k][threadIdx.x];
    const float left[kEach] = {a.x, a.y, a.z, a.w};
    const float right[kEach] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) sums[i][j] += fabsf(left[i] - right[j]);
  }
}

/// Both sets have one row for each feature, with the values of all images.
__global__ void __launch_bounds__(kThreads* kThreads)
    image_distances(const float4* __restrict__ left, const float4* __restrict__ right,
                    int left_quads, int right_quads, int features, float* __restrict__ distances) {
  __shared__ Tile tile;
  const float4* from_left = left + threadIdx.y * left_quads + blockIdx.y * kQuads + threadIdx.x;
  const float4* from_right = right + threadIdx.y * right_quads + blockIdx.x * kQuads + threadIdx.x;
  float sums[kEach][kEach] = {};
#pragma unroll 1
  for (int first = 0; first < features; first += kDepth) {
    tile.left[threadIdx.y][threadIdx.x] = from_left[first * left_quads];     // advise: here
    tile.right[threadIdx.y][threadIdx.x] = from_right[first * right_quads];  // advise: here
    __syncthreads();
    add_differences(tile, sums);
    __syncthreads();
  }
  const int row = blockIdx.y * kTile + threadIdx.y * kEach;
  const int column = blockIdx.x * kTile + threadIdx.x * kEach;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    *reinterpret_cast<float4*>(&distances[size_t(row + i) * 4 * right_quads + column]) = {
        sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
}

int main(int argc, char** argv) {
  constexpr size_t kLeftSize = size_t(kLeft) * kFeatures, kRightSize = size_t(kRight) * kFeatures;
  sample::DeviceArray<float> left(kLeftSize), right(kRightSize);
  sample::DeviceArray<float> distances(size_t(kLeft) * kRight);
  pair::fill(left, kLeftSize, 1);
  pair::fill(right, kRightSize, 2);
  pair::measure(argc, argv, [&] {
    image_distances<<<dim3(kRight / kTile, kLeft / kTile), dim3(kThreads, kThreads)>>>(
        reinterpret_cast<const float4*>(left.get()), reinterpret_cast<const float4*>(right.get()),
        kLeft / 4, kRight / 4, kFeatures, distances.get());
  });
  pair::print_checksum(sample::checksum(distances.to_host()));
}
