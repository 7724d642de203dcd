// rolled_loop.cu with the loop unrolled, so that eight loads are under way at a time.

#include "sample.h"

constexpr int kColumns = 8 * 256;
constexpr int kRows = 2048;
constexpr int kTemperatures = 33;
constexpr int kTerms = 20;

struct Series {
  float even[kTerms];
  float odd[kTerms];
};

__device__ float energy(const Series& series, float x) {
  float even = 0;
  float odd = 0;
  for (int k = 0; k < kTerms; ++k) {
    even = fmaf(even, x, series.even[k]);
    odd = fmaf(odd, x, series.odd[k]);
  }
  return fmaf(odd, x, even);
}

__global__ void sum_energies_unrolled(const float* __restrict__ distances, Series series, int rows,
                                      float* __restrict__ sums) {
  const int columns = gridDim.x * blockDim.x;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const float scale = 1.0f - 0.02f * float(blockIdx.y);
  float sum = 0;
#pragma unroll 8
  for (int row = 0; row < rows; ++row) {
    const float x = scale * distances[row * columns + column];
    sum += energy(series, x);
  }
  sums[blockIdx.y * columns + column] = sum;
}

int main(int argc, char** argv) {
  Series series;
  for (int k = 0; k < kTerms; ++k) {
    series.even[k] = 1.0f / float(kTerms - k);
    series.odd[k] = -0.5f / float(kTerms - k);
  }
  sample::DeviceArray<float> distances(sample::random_floats(size_t(kRows) * kColumns, 3));
  sample::DeviceArray<float> sums(kColumns * kTemperatures);
  const dim3 grid(kColumns / 256, kTemperatures);
  const int launches = sample::launches(argc, argv, 300);
  const float ms = sample::median_ms(launches, [&] {
    sum_energies_unrolled<<<grid, 256>>>(distances.get(), series, kRows, sums.get());
  });
  sample::report(sample::checksum(sums.to_host()), ms, launches);
}
