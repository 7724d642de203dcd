// integer_division.cu with the divisions replaced: the host finds for each extent a multiplier and
// a shift that give the same quotient.

#include "sample.h"

constexpr int kRank = 6;
constexpr unsigned kExtents[kRank] = {7, 13, 31, 12, 25, 40};

struct Shape {
  int rank;
  unsigned extent[kRank];
  unsigned stride[kRank];      // in the source
  unsigned multiplier[kRank];  // n / extent == (n * multiplier >> 32) >> shift for n < 2^31
  unsigned shift[kRank];
};

__global__ void permuted_offsets_by_reciprocal(const __grid_constant__ Shape shape, unsigned count,
                                               unsigned* offsets) {
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned rest = i;
    unsigned offset = 0;
#pragma unroll 1
    for (int d = 0; d < shape.rank; ++d) {
      const unsigned quotient = __umulhi(rest, shape.multiplier[d]) >> shape.shift[d];
      offset += (rest - quotient * shape.extent[d]) * shape.stride[d];
      rest = quotient;
    }
    offsets[i] = offset;
  }
}

// With 2^(bits-1) < extent <= 2^bits, ceil(2^(31 + bits) / extent) is exact for all n < 2^31.
static void set_reciprocal(Shape& shape, int d) {
  unsigned bits = 1;
  while ((1u << bits) < shape.extent[d]) ++bits;
  const uint64_t power = uint64_t(1) << (31 + bits);
  shape.multiplier[d] = unsigned((power + shape.extent[d] - 1) / shape.extent[d]);
  shape.shift[d] = bits - 1;
}

int main(int argc, char** argv) {
  Shape shape{kRank, {}, {}, {}, {}};
  unsigned count = 1;
  for (int d = kRank - 1; d >= 0; --d) {  // the source has its dimensions the other way round
    shape.extent[d] = kExtents[d];
    shape.stride[d] = count;
    set_reciprocal(shape, d);
    count *= kExtents[d];
  }
  sample::DeviceArray<unsigned> offsets(count);
  const int blocks = 2 * sample::multiprocessors();
  const int launches = sample::launches(argc, argv, 200);
  const float ms = sample::median_ms(launches, [&] {
    permuted_offsets_by_reciprocal<<<blocks, 128>>>(shape, count, offsets.get());
  });
  sample::report(sample::checksum(offsets.to_host()), ms, launches);
}
