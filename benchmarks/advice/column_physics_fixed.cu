// Condensation in the columns of an atmosphere, a column for each thread, from the top level down.
// A block keeps the table of saturation pressures in shared memory. It allocates room for the
// table in use, 28 KiB, which leaves room for seven blocks on a multiprocessor.

#include "pair.h"

constexpr int kThreads = 128;
constexpr int kLevels = 64;

constexpr int kTable = 7168;

extern __shared__ float saturation[];

struct Moisture {
  float vapour, rain;
};

/// What condenses on one level falls to the next.
__device__ Moisture condense(float temperature, float vapour, float rain, int entries) {
  const float place = temperature * float(entries - 2);
  const int entry = int(place);
  const float part = place - float(entry);
  const float limit = saturation[entry] + part * (saturation[entry + 1] - saturation[entry]);
  const float excess = fmaxf(vapour - limit, 0.0f);
  const float regained = fmaxf(limit - vapour, 0.0f) * rain * 0.2f;
  return {vapour - excess + regained, rain + excess - regained};
}

__global__ void rain_columns(const float* __restrict__ temperatures,
                             const float* __restrict__ table, int entries, int columns, int levels,
                             const float* vapour, float* dried, float* rain) {
  for (int i = threadIdx.x; i < entries; i += blockDim.x) saturation[i] = table[i];
  __syncthreads();
  const int step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int column = blockIdx.x * blockDim.x + threadIdx.x; column < columns; column += step) {
    float falling = 0;
#pragma unroll 1
    for (int level = 0; level < levels; ++level) {
      const int cell = level * columns + column;
      const Moisture moisture = condense(temperatures[cell], vapour[cell], falling, entries);
      dried[cell] = moisture.vapour;
      falling = moisture.rain;
    }
    rain[column] = falling;
  }
}

int main(int argc, char** argv) {
  const int columns = 28 * sample::multiprocessors() * kThreads;
  const size_t cells = size_t(columns) * kLevels;
  sample::DeviceArray<float> temperatures(cells), vapour(cells), dried(cells), rain(columns);
  sample::DeviceArray<float> table(sample::random_floats(kTable, 3));
  pair::fill(temperatures, cells, 1);
  pair::fill(vapour, cells, 2);
  constexpr int kShared = kTable * sizeof(float);
  CHECK(cudaFuncSetAttribute(rain_columns, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  int resident = 0;  // blocks on a multiprocessor
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, rain_columns, kThreads, kShared));
  const int blocks = resident * sample::multiprocessors();
  pair::measure(argc, argv, [&] {
    rain_columns<<<blocks, kThreads, kShared>>>(temperatures.get(), table.get(), kTable, columns,
                                                kLevels, vapour.get(), dried.get(), rain.get());
  });
  pair::print_checksum(sample::checksum(rain.to_host()));
}
