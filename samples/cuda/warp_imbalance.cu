// Digests batches of lists, one list a warp; the next batch's seed is the digest so far, so that
// the warps of a block meet after each batch. The first list of a batch is ten times as long as
// the others.

#include "sample.h"

constexpr int kWarps = 8;
constexpr int kBatches = 64;

__device__ uint32_t digest_item(uint32_t seed, int list, int item) {
  return sample::mix(seed +
                     sample::mix(uint32_t(list) << 16 | uint32_t(item) << 5 | threadIdx.x % 32));
}

__global__ void digest_lists(const int* __restrict__ lengths, int batches, uint32_t* digests) {
  __shared__ uint32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  const int list = threadIdx.x / 32;
  uint32_t seed = blockIdx.x;
  for (int batch = 0; batch < batches; ++batch) {
    const int length = lengths[batch * kWarps + list];
    uint32_t sum = 0;
#pragma unroll 1
    for (int item = 0; item < length; ++item) sum += digest_item(seed, list, item);
    atomicAdd(&total, sum);
    __syncthreads();  // PLANTED: warp-balance
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
    digest_lists<<<kBlocks, 32 * kWarps>>>(device_lengths.get(), kBatches, digests.get());
  });
  sample::report(sample::checksum(digests.to_host()), ms, launches);
}
