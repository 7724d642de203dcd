// Photons in a layered medium by Monte Carlo: each thread follows photons through the layers. What
// is absorbed, in fixed point, is summed up in each thread, then in each block, and then once for
// the whole medium.

#include "pair.h"

constexpr int kThreads = 256;
constexpr int kPhotonsEach = 4;
constexpr int kScatterings = 256;
constexpr int kLayers = 16;

__constant__ float absorptions[kLayers];

/// In (0, 1].
__device__ float uniform(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return float((state >> 9) + 1) * 0x1p-23f;
}

/// The absorbed weight of one photon, in units of 2^-20.
__device__ unsigned long long follow_photon(uint32_t& state) {
  float depth = 0;
  float direction = 1;
  float weight = 1;
  float absorbed = 0;
#pragma unroll 1
  for (int i = 0; i < kScatterings; ++i) {
    depth = fabsf(depth - direction * __logf(uniform(state)));
    const int layer = min(int(depth), kLayers - 1);
    const float lost = weight * absorptions[layer];
    absorbed += lost;
    weight -= lost;
    direction = 2 * uniform(state) - 1;
  }
  return static_cast<unsigned long long>(absorbed * 0x1p20f);
}

__global__ void absorb_photons(int each, unsigned long long* total) {
  __shared__ unsigned long long block_total;
  if (threadIdx.x == 0) block_total = 0;
  __syncthreads();
  uint32_t state = sample::mix(blockIdx.x * blockDim.x + threadIdx.x);
  unsigned long long sum = 0;
#pragma unroll 1
  for (int photon = 0; photon < each; ++photon) sum += follow_photon(state);
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(&block_total, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, block_total);
}

int main(int argc, char** argv) {
  std::vector<float> rates = sample::random_floats(kLayers, 1);
  for (float& rate : rates) rate *= 0.2f;
  CHECK(cudaMemcpyToSymbol(absorptions, rates.data(), rates.size() * sizeof(float)));
  sample::DeviceArray<unsigned long long> total(1);
  const int blocks = 16 * sample::multiprocessors();
  pair::measure(
      argc, argv, [&] { CHECK(cudaMemsetAsync(total.get(), 0, sizeof(unsigned long long))); },
      [&] { absorb_photons<<<blocks, kThreads>>>(kPhotonsEach, total.get()); });
  pair::print_checksum(uint64_t(total.to_host()[0]));
}
