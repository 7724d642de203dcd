// Corrects the brightness of an image for many exposures, with the exact power function.

#include "sample.h"

constexpr int kPixels = 264 * 256;
constexpr int kExposures = 1000;

__global__ void correct_gamma(const float* __restrict__ pixels, int exposures, float gamma,
                              float* __restrict__ result) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float pixel = pixels[i];
  float sum = 0;
#pragma unroll 1
  for (int e = 1; e <= exposures; ++e) {
    sum += powf(pixel * float(e), gamma);  // PLANTED: fast-math
  }
  result[i] = sum;
}

int main(int argc, char** argv) {
  sample::DeviceArray<float> pixels(sample::random_floats(kPixels, 5));
  sample::DeviceArray<float> result(kPixels);
  const int launches = sample::launches(argc, argv, 500);
  const float ms = sample::median_ms(launches, [&] {
    correct_gamma<<<kPixels / 256, 256>>>(pixels.get(), kExposures, 0.45f, result.get());
  });
  sample::report(sample::mean(result.to_host()), ms, launches);
}
