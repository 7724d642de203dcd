// Tone mapping of a picture with four floats for each pixel: brightness by the usual weights, then
// a curve, then the colours scaled alike. A pixel is read and written as a whole.

#include "pair.h"

constexpr int kWidth = 3840;
constexpr int kHeight = 2160;
constexpr int kThreads = 256;

/// How much a pixel of this brightness is scaled.
__device__ float exposure(float red, float green, float blue, float white) {
  const float brightness = 0.2126f * red + 0.7152f * green + 0.0722f * blue;
  return __fdividef(1 + __fdividef(brightness, white * white), 1 + brightness);
}

__global__ void map_tones(const float* __restrict__ picture, int pixels, float white,
                          float* __restrict__ mapped) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  const float4 colour = reinterpret_cast<const float4*>(picture)[pixel];
  const float scale = exposure(colour.x, colour.y, colour.z, white);
  reinterpret_cast<float4*>(mapped)[pixel] = {scale * colour.x, scale * colour.y, scale * colour.z,
                                              colour.w};
}

int main(int argc, char** argv) {
  constexpr int kPixels = kWidth * kHeight;
  constexpr int kBlocks = (kPixels + kThreads - 1) / kThreads;
  sample::DeviceArray<float> picture(size_t(4) * kPixels), mapped(size_t(4) * kPixels);
  pair::fill(picture, size_t(4) * kPixels, 1);
  pair::measure(argc, argv, [&] {
    map_tones<<<kBlocks, kThreads>>>(picture.get(), kPixels, 4.0f, mapped.get());
  });
  pair::print_checksum(sample::checksum(mapped.to_host()));
}
