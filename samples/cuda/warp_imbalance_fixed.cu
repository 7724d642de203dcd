// warp_imbalance.cu with every list split evenly among the warps of the block.

#include "sample.h"

constexpr int kWarps = 8;
constexpr int kBatches = 64;

__device__ uint32_t digest_item(uint32_t seed, int list, int item) {
  return sample::mix(seed +
                     sample::mix(uint32_t(list) << 16 | uint32_t(item) << 5 | threadIdx.x % 32));
}

__global__ void digest_lists_together(const int* __restrict__ lengths, int batches,
                                      uint32_t* digests) {
  __shared__ uint32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  const int warp = threadIdx.x / 32;
  uint32_t seed = blockIdx.x;
  for (int batch = 0; batch < batches; ++batch) {
    uint32_t sum = 0;
    for (int list = 0; list < kWarps; ++list) {
      const int length = lengths[batch * kWarps + list];
#pragma unroll 1
      for (int item = warp; item < length; item += kWarps) sum += digest_item(seed, list, item);
    }
    atomicAdd(&total, sum);
    __syncthreads();
    seed = total;
    __syncthreads();
  }
  if (threadIdx.x == 0) digests[blockIdx.x] = seed;
}

int main(int argc, char** argv) {
  std::vector<int> lengths(kBatches * kWarps, 64);
  for (int batch = 0; batch < kBatches; ++batch) lengths[batch * kWarps] = 640;
  sample::DeviceArray<int> device_lengths(lengths);
  constexpr int kBlocks = 132;
  sample::DeviceArray<uint32_t> digests(kBlocks);
  const int launches = sample::launches(argc, argv, 100);
  const float ms = sample::median_ms(launches, [&] {
    digest_lists_together<<<kBlocks, 32 * kWarps>>>(device_lengths.get(), kBatches, digests.get());
  });
  sample::report(sample::checksum(digests.to_host()), ms, launches);
}
