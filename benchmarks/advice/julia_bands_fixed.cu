// How fast points near a filled Julia set escape, for an image in bands of rows. There are as
// many blocks as fit at once, and each computes as many rows as the others.

#include "pair.h"

constexpr int kThreads = 1024;
constexpr int kWidth = 1024;
constexpr int kBand = 32;
constexpr int kTurns = 192;

/// The smoothed distance after a fixed number of turns, alike for all points.
__device__ float escape(float x, float y) {
  float distance = 0;
#pragma unroll 4
  for (int i = 0; i < kTurns; ++i) {
    const float next = x * x - y * y - 0.4f;
    y = fminf(fmaxf(2 * x * y + 0.6f, -2.0f), 2.0f);
    x = fminf(fmaxf(next, -2.0f), 2.0f);
    distance = 0.9f * distance + 0.1f * (x * x + y * y);
  }
  return distance;
}

__global__ void draw_bands(int rows, float* __restrict__ image) {
  const int first = int(blockIdx.x * int64_t(rows) / gridDim.x);
  const int end = int((blockIdx.x + 1) * int64_t(rows) / gridDim.x);
  const float scale = 2.0f / float(rows);
#pragma unroll 1
  for (int row = first; row < end; ++row)
    image[row * kWidth + threadIdx.x] =
        escape(float(threadIdx.x) * (2.0f / kWidth) - 1, float(row) * scale - 1);
}

int main(int argc, char** argv) {
  int resident = 0;  // blocks on a multiprocessor
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, draw_bands, kThreads, 0));
  const int at_once = resident * sample::multiprocessors();
  const int rows = (at_once + at_once / 8) * kBand;
  sample::DeviceArray<float> image(size_t(rows) * kWidth);
  pair::measure(argc, argv, [&] { draw_bands<<<at_once, kThreads>>>(rows, image.get()); });
  pair::print_checksum(sample::checksum(image.to_host()));
}
