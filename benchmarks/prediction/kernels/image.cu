// Image filters.
#include "cases.h"

using bench::ceil_div;

extern "C" __global__ void box_filter(const float* __restrict__ in, float* __restrict__ out,
                                      int width, int height, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int dy = -radius; dy <= radius; dy++)
    for (int dx = -radius; dx <= radius; dx++) {
      int u = min(max(x + dx, 0), width - 1), v = min(max(y + dy, 0), height - 1);
      sum += in[v * width + u];
    }
  out[y * width + x] = sum / ((2 * radius + 1) * (2 * radius + 1));
}

__constant__ float kWeights[17] = {0.01f, 0.02f, 0.03f, 0.05f, 0.07f, 0.09f, 0.1f,  0.12f, 0.15f,
                                   0.12f, 0.1f,  0.09f, 0.07f, 0.05f, 0.03f, 0.02f, 0.01f};

extern "C" __global__ void gauss_rows(const float* __restrict__ in, float* __restrict__ out,
                                      int width, int height) {
  __shared__ float tile[8][128 + 16];
  int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  for (int i = threadIdx.x; i < 128 + 16; i += 128) {
    int u = min(max((int)blockIdx.x * 128 + i - 8, 0), width - 1);
    tile[threadIdx.y][i] = in[y * width + u];
  }
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 17; k++) sum += kWeights[k] * tile[threadIdx.y][threadIdx.x + k];
  out[y * width + x] = sum;
}

extern "C" __global__ void gauss_columns(const float* __restrict__ in, float* __restrict__ out,
                                         int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int k = -8; k <= 8; k++) {
    int v = y + k;
    if (v >= 0 && v < height) sum += kWeights[k + 8] * in[v * width + x];
  }
  out[y * width + x] = sum;
}

extern "C" __global__ void sobel(const unsigned char* __restrict__ in, unsigned char* __restrict__ out,
                                 int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const unsigned char* p = in + y * width + x;
  int gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[-1 + width];
  int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[1 - width];
  out[y * width + x] = min(abs(gx) + abs(gy), 255);
}

extern "C" __global__ void bilateral(const float* __restrict__ in, float* __restrict__ out,
                                     int width, int height, int radius, float space, float range) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float center = in[y * width + x], sum = 0.0f, norm = 0.0f;
  for (int dy = -radius; dy <= radius; dy++)
    for (int dx = -radius; dx <= radius; dx++) {
      int u = min(max(x + dx, 0), width - 1), v = min(max(y + dy, 0), height - 1);
      float value = in[v * width + u], difference = value - center;
      float w = __expf(-(dx * dx + dy * dy) * space - difference * difference * range);
      sum += w * value;
      norm += w;
    }
  out[y * width + x] = sum / norm;
}

__device__ void order(float& a, float& b) {
  float low = fminf(a, b);
  b = fmaxf(a, b);
  a = low;
}

extern "C" __global__ void median3x3(const float* __restrict__ in, float* __restrict__ out,
                                     int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  float v[9];
#pragma unroll
  for (int i = 0; i < 9; i++) v[i] = in[(y + i / 3 - 1) * width + x + i % 3 - 1];
#pragma unroll
  for (int pass = 0; pass < 9; pass++)
#pragma unroll
    for (int i = pass & 1; i < 8; i += 2) order(v[i], v[i + 1]);
  out[y * width + x] = v[4];
}

extern "C" __global__ void histogram_shared(const unsigned char* __restrict__ in, unsigned* bins,
                                            int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void histogram_global(const int* __restrict__ in, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1u);
}

extern "C" __global__ void rgb_to_gray(const uchar4* __restrict__ in, unsigned char* __restrict__ out,
                                       int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 c = in[i];
  out[i] = (unsigned char)(0.299f * c.x + 0.587f * c.y + 0.114f * c.z);
}

extern "C" __global__ void convolve7x7(const float* __restrict__ in, const float* __restrict__ mask,
                                       float* __restrict__ out, int width, int height) {
  __shared__ float tile[22][22];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int i = ty * 16 + tx; i < 22 * 22; i += 256) {
    int u = min(max(x0 + i % 22 - 3, 0), width - 1), v = min(max(y0 + i / 22 - 3, 0), height - 1);
    tile[i / 22][i % 22] = in[v * width + u];
  }
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int dy = 0; dy < 7; dy++)
#pragma unroll
    for (int dx = 0; dx < 7; dx++) sum += mask[dy * 7 + dx] * tile[ty + dy][tx + dx];
  if (x0 + tx < width && y0 + ty < height) out[(y0 + ty) * width + x0 + tx] = sum;
}

extern "C" __global__ void resize_bilinear(const float* __restrict__ in, float* __restrict__ out,
                                           int in_width, int in_height, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = x * ((float)(in_width - 1) / width), v = y * ((float)(in_height - 1) / height);
  int x0 = (int)floorf(u), y0 = (int)floorf(v);
  float fx = u - x0, fy = v - y0;
  const float* p = in + y0 * in_width + x0;
  float top = p[0] + fx * (p[1] - p[0]);
  float bottom = p[in_width] + fx * (p[in_width + 1] - p[in_width]);
  out[y * width + x] = top + fy * (bottom - top);
}

extern "C" __global__ void erode(const unsigned char* __restrict__ in, unsigned char* __restrict__ out,
                                 int width, int height, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < radius || x >= width - radius || y >= height) return;
  int least = 255;
  for (int d = -radius; d <= radius; d++) least = min(least, (int)in[y * width + x + d]);
  out[y * width + x] = least;
}

KERNELS(image) {
  for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(128, 1)})
    for (int width : {1024, 2048, 4096}) {
      int height = width * 3 / 4;
      size_t pixels = (size_t)width * height;
      dim3 grid(ceil_div(width, block.x), ceil_div(height, block.y));
      int radius = width == 2048 ? 5 : 2;
      auto byte = [](size_t i) { return bench::hash(i) % 256; };
      CASE(box_filter, grid, block, 0)
          .floats("in", pixels).zeros("out", 4 * pixels).arg("width", width).arg("height", height)
          .arg("radius", radius);
      CASE(gauss_columns, grid, block, 0)
          .floats("in", pixels).zeros("out", 4 * pixels).arg("width", width).arg("height", height);
      CASE(sobel, grid, block, 0)
          .data<unsigned char>("in", pixels, byte).zeros("out", pixels).arg("width", width)
          .arg("height", height);
      CASE(bilateral, grid, block, 0)
          .floats("in", pixels).zeros("out", 4 * pixels).arg("width", width).arg("height", height)
          .arg("radius", radius).arg("space", 0.1f).arg("range", 8.0f);
      CASE(median3x3, grid, block, 0)
          .floats("in", pixels).zeros("out", 4 * pixels).arg("width", width).arg("height", height);
      CASE(resize_bilinear, grid, block, 0)
          .floats("in", pixels / 4).zeros("out", 4 * pixels).arg("in_width", width / 2)
          .arg("in_height", height / 2).arg("width", width).arg("height", height);
      CASE(erode, grid, block, 0)
          .data<unsigned char>("in", pixels, byte).zeros("out", pixels).arg("width", width)
          .arg("height", height).arg("radius", 3);
    }
  for (int width : {512, 1024, 2048, 4096, 8192}) {
    size_t pixels = (size_t)width * width;
    CASE(gauss_rows, dim3(width / 128, width / 8), dim3(128, 8), 0)
        .floats("in", pixels).zeros("out", 4 * pixels).arg("width", width).arg("height", width);
    CASE(convolve7x7, dim3(width / 16, width / 16), dim3(16, 16), 0)
        .floats("in", pixels).floats("mask", 49).zeros("out", 4 * pixels).arg("width", width)
        .arg("height", width);
  }
  for (int block : {128, 256, 512})
    for (int n : {1 << 20, 1 << 22, 1 << 24}) {
      CASE(histogram_shared, min(ceil_div(n, block), 1056u), block, 0)
          .data<unsigned char>("in", n, [](size_t i) { return bench::hash(i) % 256; })
          .zeros("bins", 1024).arg("n", n);
      CASE(histogram_global, ceil_div(n, block), block, 0)
          .ints("in", n, 4096).zeros("bins", 4 * 4096).arg("n", n);
      CASE(rgb_to_gray, ceil_div(n, block), block, 0)
          .ints("in", n, 1u << 31).zeros("out", n).arg("n", n);
    }
}
