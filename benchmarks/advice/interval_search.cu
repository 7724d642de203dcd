// Finds for each of many sorted queries the interval of a long sorted list that it falls into, by
// binary search. Neighbouring threads take almost the same way, so that the time goes into waiting
// for one load after the other. Blocks are single warps: a multiprocessor has room for 64 warps but
// for no more than 32 blocks.

#include "pair.h"

constexpr int kBounds = 1 << 20;
constexpr int kQueries = 1 << 24;
constexpr int kThreads = 32;

/// Sorted, with gaps of uneven width.
__device__ uint32_t bound(uint32_t index) {
  return 2048 * index + sample::mix(index) % 2048;
}

__global__ void make_bounds(uint32_t* bounds) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  bounds[index] = bound(index);
}

/// The number of bounds that are not above the query.
__device__ int interval_of(const uint32_t* __restrict__ bounds, int count, uint32_t query) {
  int low = 0;
  int high = count;
#pragma unroll 1
  while (low < high) {
    const int middle = (low + high) / 2;
    if (bounds[middle] <= query) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void search_intervals(const uint32_t* __restrict__ bounds, int count, uint32_t spacing,
                                 int* __restrict__ intervals) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  intervals[index] = interval_of(bounds, count, index * spacing);
}

int main(int argc, char** argv) {
  sample::DeviceArray<uint32_t> bounds(kBounds);
  sample::DeviceArray<int> intervals(kQueries);
  make_bounds<<<kBounds / 256, 256>>>(bounds.get());
  constexpr uint32_t kSpacing = uint32_t((uint64_t(kBounds) * 2048 - 1) / kQueries);
  pair::measure(argc, argv, [&] {
    search_intervals<<<kQueries / kThreads, kThreads>>>(  // advise: here
        bounds.get(), kBounds, kSpacing, intervals.get());
  });
  pair::print_checksum(sample::checksum(intervals.to_host()));
}
