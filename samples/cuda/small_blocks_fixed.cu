// small_blocks.cu with eight warps in a block, so that a multiprocessor is filled.

#include "sample.h"

constexpr int kRows = 1 << 19;
constexpr int kRowsPerWarp = 16;
constexpr int kLongestRow = 32;

__global__ void multiply_rows_in_large_blocks(const int* __restrict__ row_starts,
                                              const int* __restrict__ columns,
                                              const float* __restrict__ values,
                                              const float* __restrict__ x, float* __restrict__ y) {
  const int lane = threadIdx.x % 32;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
#pragma unroll 1
  for (int row = warp * kRowsPerWarp; row < (warp + 1) * kRowsPerWarp; ++row) {
    const int end = row_starts[row + 1];
    float sum = 0;
#pragma unroll 1
    for (int k = row_starts[row] + lane; k < end; k += 32)
      sum = fmaf(values[k], x[columns[k]], sum);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (lane == 0) y[row] = sum;
  }
}

int main(int argc, char** argv) {
  std::vector<int> row_starts(kRows + 1);
  std::vector<int> columns;
  std::vector<float> values, vector(kRows);
  for (int row = 0; row < kRows; ++row) {  // a band matrix of small whole numbers: sums are exact
    const int length = kLongestRow / 2 + int(sample::mix(row) % (kLongestRow / 2));
    for (int k = 0; k < length; ++k) {
      columns.push_back((row + k) % kRows);
      values.push_back(float(k % 7));
    }
    row_starts[row + 1] = int(columns.size());
    vector[row] = float(row % 11);
  }
  sample::DeviceArray<int> device_starts(row_starts), device_columns(columns);
  sample::DeviceArray<float> device_values(values), x(vector), y(kRows);
  constexpr int kThreads = 256;
  constexpr int kBlocks = kRows / kRowsPerWarp / (kThreads / 32);
  const int launches = sample::launches(argc, argv, 800);
  const float ms = sample::median_ms(launches, [&] {
    multiply_rows_in_large_blocks<<<kBlocks, kThreads>>>(device_starts.get(), device_columns.get(),
                                                         device_values.get(), x.get(), y.get());
  });
  sample::report(sample::checksum(y.to_host()), ms, launches);
}
