// The accelerations of the stars of a galaxy, each by all others, tile by tile through shared
// memory. The grid has 32 large blocks, so that most multiprocessors have nothing to do.

#include "pair.h"

constexpr int kStars = 1 << 15;
constexpr int kThreads = 1024;
constexpr int kTile = 128;
constexpr float kSoftening = 0.01f;

__device__ void attract(const float4& star, const float4& other, float3& acceleration) {
  const float dx = other.x - star.x, dy = other.y - star.y, dz = other.z - star.z;
  const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
  const float pull = other.w * inverse * inverse * inverse;
  acceleration.x += pull * dx;
  acceleration.y += pull * dy;
  acceleration.z += pull * dz;
}

__global__ void star_accelerations(const float4* __restrict__ stars, int count,
                                   float4* __restrict__ accelerations) {
  __shared__ float4 tile[kTile];
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 star = stars[index];
  float3 acceleration = {0, 0, 0};
#pragma unroll 1
  for (int first = 0; first < count; first += kTile) {
    if (threadIdx.x < kTile) tile[threadIdx.x] = stars[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < kTile; ++i) attract(star, tile[i], acceleration);
    __syncthreads();
  }
  accelerations[index] = {acceleration.x, acceleration.y, acceleration.z, 0};
}

__global__ void place_stars(const float* __restrict__ random, float4* __restrict__ stars) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const float* own = random + 4 * index;
  stars[index] = {own[0] - 0.5f, own[1] - 0.5f, 0.1f * own[2], 0.5f + own[3]};
}

int main(int argc, char** argv) {
  sample::DeviceArray<float> random(4 * size_t(kStars));
  sample::DeviceArray<float4> stars(kStars), accelerations(kStars);
  pair::fill(random, 4 * size_t(kStars), 1);
  place_stars<<<kStars / 256, 256>>>(random.get(), stars.get());
  pair::measure(argc, argv, [&] {
    star_accelerations<<<kStars / kThreads, kThreads>>>(  // advise: here
        stars.get(), kStars, accelerations.get());
  });
  std::vector<float> pulls;
  for (const float4& a : accelerations.to_host()) pulls.push_back(a.x * a.x + a.y * a.y);
  pair::print_checksum(sample::checksum(pulls));
}
