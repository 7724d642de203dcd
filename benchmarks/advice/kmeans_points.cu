// The assignment step of k-means: each thread finds the centre that is nearest to its point. Points
// lie one after the other, each with all its features, so that the threads of a warp read far
// apart.

#include "pair.h"

constexpr int kPoints = 1 << 19;
constexpr int kFeatures = 34;
constexpr int kCentres = 5;
constexpr int kThreads = 256;

__constant__ float centres[kCentres * kFeatures];

/// Where a feature of a point lies.
__device__ int place(int point, int feature, int /*points*/, int features) {
  return point * features + feature;
}

__global__ void assign_points(const float* __restrict__ data, int points, int features,
                              int* __restrict__ nearest) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  float distances[kCentres] = {};
#pragma unroll 2
  for (int feature = 0; feature < features; ++feature) {
    const float value = data[place(point, feature, points, features)];  // advise: here
#pragma unroll
    for (int c = 0; c < kCentres; ++c) {
      const float difference = value - centres[c * kFeatures + feature];
      distances[c] += difference * difference;
    }
  }
  int best = 0;
#pragma unroll
  for (int c = 1; c < kCentres; ++c)
    if (distances[c] < distances[0]) {
      distances[0] = distances[c];
      best = c;
    }
  nearest[point] = best;
}

/// Brings random points, made feature by feature, into the order that the kernel reads.
__global__ void arrange_points(const float* __restrict__ made, int points, int features,
                               float* __restrict__ data) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  for (int feature = 0; feature < features; ++feature)
    data[place(point, feature, points, features)] = made[feature * points + point];
}

int main(int argc, char** argv) {
  sample::DeviceArray<float> made(size_t(kPoints) * kFeatures), data(size_t(kPoints) * kFeatures);
  pair::fill(made, size_t(kPoints) * kFeatures, 1);
  const std::vector<float> start = sample::random_floats(kCentres * kFeatures, 2);
  CHECK(cudaMemcpyToSymbol(centres, start.data(), start.size() * sizeof(float)));
  constexpr int kBlocks = kPoints / kThreads;
  arrange_points<<<kBlocks, kThreads>>>(made.get(), kPoints, kFeatures, data.get());
  sample::DeviceArray<int> nearest(kPoints);
  pair::measure(argc, argv, [&] {
    assign_points<<<kBlocks, kThreads>>>(data.get(), kPoints, kFeatures, nearest.get());
  });
  pair::print_checksum(sample::checksum(nearest.to_host()));
}
