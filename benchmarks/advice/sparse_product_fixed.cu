// The product of a sparse matrix in ELLPACK form with a vector, a row for each thread. The loop
// over a row's entries is unrolled, so that four entries are on their way at once.

#include "pair.h"

constexpr int kRowsEach = 4;
constexpr int kThreads = 128;
constexpr int kWidth = 96;
constexpr unsigned kBand = 1 << 12;

/// Where the entries of a row stand is given as distances from the diagonal.
__global__ void multiply_rows(const float* __restrict__ values,
                              const uint32_t* __restrict__ columns,
                              const float* __restrict__ vector, int rows, int width,
                              float* __restrict__ product) {
  const int step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += step) {
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < width; ++i) {
      const int entry = i * rows + row;
      sum += values[entry] * vector[row + columns[entry]];
    }
    product[row] = sum;
  }
}

/// A banded matrix: neighbouring rows have their entries near each other.
__global__ void place_entries(int rows, int width, uint32_t* columns) {
  const int step = gridDim.x * blockDim.x;
  for (int entry = blockIdx.x * blockDim.x + threadIdx.x; entry < rows * width; entry += step)
    columns[entry] = sample::mix(entry / rows) % kBand + sample::mix(entry) % 8;
}

int main(int argc, char** argv) {
  const int blocks = 4 * sample::multiprocessors();
  const int rows = blocks * kThreads * kRowsEach;
  const size_t entries = size_t(rows) * kWidth;
  sample::DeviceArray<float> values(entries), vector(rows + kBand + 8), product(rows);
  sample::DeviceArray<uint32_t> columns(entries);
  pair::fill(values, entries, 1);
  pair::fill(vector, rows + kBand + 8, 2);
  place_entries<<<1024, 256>>>(rows, kWidth, columns.get());
  pair::measure(argc, argv, [&] {
    multiply_rows<<<blocks, kThreads>>>(values.get(), columns.get(), vector.get(), rows, kWidth,
                                        product.get());
  });
  pair::print_checksum(sample::checksum(product.to_host()));
}
