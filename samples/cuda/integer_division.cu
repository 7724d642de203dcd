// Permutes a tensor: finds for each position of the result where its value comes from.
// The extents are known only at run time, so that each dimension costs an integer division.

#include "sample.h"

constexpr int kRank = 6;
constexpr unsigned kExtents[kRank] = {7, 13, 31, 12, 25, 40};

struct Shape {
  int rank;
  unsigned extent[kRank];
  unsigned stride[kRank];  // in the source
};

__global__ void permuted_offsets(const __grid_constant__ Shape shape, unsigned count,
                                 unsigned* offsets) {
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned rest = i;
    unsigned offset = 0;
#pragma unroll 1
    for (int d = 0; d < shape.rank; ++d) {
      const unsigned quotient = rest / shape.extent[d];  // PLANTED: strength-reduction
      offset += (rest - quotient * shape.extent[d]) * shape.stride[d];
      rest = quotient;
    }
    offsets[i] = offset;
  }
}

int main(int argc, char** argv) {
  Shape shape{kRank, {}, {}};
  unsigned count = 1;
  for (int d = kRank - 1; d >= 0; --d) {  // the source has its dimensions the other way round
    shape.extent[d] = kExtents[d];
    shape.stride[d] = count;
    count *= kExtents[d];
  }
  sample::DeviceArray<unsigned> offsets(count);
  const int blocks = 2 * sample::multiprocessors();
  const int launches = sample::launches(argc, argv, 200);
  const float ms = sample::median_ms(
      launches, [&] { permuted_offsets<<<blocks, 128>>>(shape, count, offsets.get()); });
  sample::report(sample::checksum(offsets.to_host()), ms, launches);
}
