// Transforms.
#include "cases.h"

using bench::ceil_div;

// One pass of a radix-2 transform over a whole array.
extern "C" __global__ void fft_radix2(const float2* __restrict__ in, float2* __restrict__ out, int n,
                                      int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int half = n / 2;
  if (i >= half) return;
  int k = i & (p - 1);
  float angle = -3.14159265f * k / p;
  float s, c;
  __sincosf(angle, &s, &c);
  float2 u = in[i], v = in[i + half];
  float2 w = make_float2(c * v.x - s * v.y, c * v.y + s * v.x);
  int j = (i << 1) - k;
  out[j] = make_float2(u.x + w.x, u.y + w.y);
  out[j + p] = make_float2(u.x - w.x, u.y - w.y);
}

extern "C" __global__ void fft_radix4(const float2* __restrict__ in, float2* __restrict__ out, int n,
                                      int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int quarter = n / 4;
  if (i >= quarter) return;
  int k = i & (p - 1);
  float angle = -1.57079633f * k / p;
  float2 x[4];
#pragma unroll
  for (int q = 0; q < 4; q++) {
    float2 v = in[i + q * quarter];
    float s, c;
    sincosf(q * angle, &s, &c);
    x[q] = make_float2(c * v.x - s * v.y, c * v.y + s * v.x);
  }
  float2 a = make_float2(x[0].x + x[2].x, x[0].y + x[2].y);
  float2 b = make_float2(x[0].x - x[2].x, x[0].y - x[2].y);
  float2 c = make_float2(x[1].x + x[3].x, x[1].y + x[3].y);
  float2 d = make_float2(x[1].y - x[3].y, x[3].x - x[1].x);
  int j = ((i - k) << 2) + k;
  out[j] = make_float2(a.x + c.x, a.y + c.y);
  out[j + p] = make_float2(b.x + d.x, b.y + d.y);
  out[j + 2 * p] = make_float2(a.x - c.x, a.y - c.y);
  out[j + 3 * p] = make_float2(b.x - d.x, b.y - d.y);
}

// A whole transform of 2 * blockDim.x points in shared memory.
extern "C" __global__ void fft_shared(const float2* in, float2* out, int stages) {
  extern __shared__ float2 points[];
  int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size;
  points[t] = in[base + t];
  points[t + blockDim.x] = in[base + t + blockDim.x];
  for (int stage = 0; stage < stages; stage++) {
    int p = 1 << stage, k = t & (p - 1);
    float s, c;
    __sincosf(-3.14159265f * k / p, &s, &c);
    __syncthreads();
    float2 u = points[t], v = points[t + blockDim.x];
    __syncthreads();
    float2 w = make_float2(c * v.x - s * v.y, c * v.y + s * v.x);
    int j = (t << 1) - k;
    points[j] = make_float2(u.x + w.x, u.y + w.y);
    points[j + p] = make_float2(u.x - w.x, u.y - w.y);
  }
  __syncthreads();
  out[base + t] = points[t];
  out[base + t + blockDim.x] = points[t + blockDim.x];
}

extern "C" __global__ void dft_naive(const float* __restrict__ in, float* __restrict__ re,
                                     float* __restrict__ im, int n) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  float sum_re = 0.0f, sum_im = 0.0f;
  for (int t = 0; t < n; t++) {
    float angle = 6.2831853f * ((k * t) & (n - 1)) / n;
    sum_re += in[t] * cosf(angle);
    sum_im -= in[t] * sinf(angle);
  }
  re[k] = sum_re;
  im[k] = sum_im;
}

extern "C" __global__ void walsh_hadamard(float* data, int log2_size) {
  extern __shared__ float values[];
  int size = 1 << log2_size, base = blockIdx.x * size;
  for (int i = threadIdx.x; i < size; i += blockDim.x) values[i] = data[base + i];
  for (int stride = size / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
      int low = pair & (stride - 1), i = ((pair - low) << 1) + low;
      float a = values[i], b = values[i + stride];
      values[i] = (a + b) * 0.70710678f;
      values[i + stride] = (a - b) * 0.70710678f;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += blockDim.x) data[base + i] = values[i];
}

// Rows, then columns, of 8 x 8 tiles; one tile for each 8 x 8 threads of the block.
extern "C" __global__ void dct8x8(const float* __restrict__ in, float* __restrict__ out, int width) {
  __shared__ float basis[8][8];
  __shared__ float tile[4][8][9];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  if (z == 0) basis[y][x] = (y == 0 ? 0.35355339f : 0.5f) * cosf((2 * x + 1) * y * 0.19634954f);
  int column = (blockIdx.x * 4 + z) * 8 + x, row = blockIdx.y * 8 + y;
  tile[z][y][x] = in[row * width + column];
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 8; k++) sum += tile[z][y][k] * basis[x][k];
  __syncthreads();
  tile[z][y][x] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int k = 0; k < 8; k++) sum += tile[z][k][x] * basis[y][k];
  out[row * width + column] = sum;
}

extern "C" __global__ void haar_lifting(const double* __restrict__ in, double* __restrict__ low,
                                        double* __restrict__ high, int half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= half) return;
  double a = in[2 * i], b = in[2 * i + 1];
  double detail = b - a;
  high[i] = detail;
  low[i] = a + 0.5 * detail;
}

KERNELS(spectral) {
  for (int block : {64, 128, 256, 512})
    for (int n : {1 << 20, 1 << 22, 1 << 24}) {
      CASE(fft_radix2, n / 2 / block, block, 0)
          .floats("in", 2 * n).zeros("out", 8 * n).arg("n", n).arg("p", 256);
      CASE(fft_radix4, n / 4 / block, block, 0)
          .floats("in", 2 * n).zeros("out", 8 * n).arg("n", n).arg("p", 64);
      CASE(haar_lifting, n / block, block, 0)
          .doubles("in", 2 * n).zeros("low", 8 * n).zeros("high", 8 * n).arg("half", n);
      int stages = block == 64 ? 7 : block == 128 ? 8 : block == 256 ? 9 : 10;
      CASE(fft_shared, n / (2 * block), block, 16 * block)
          .floats("in", 2 * n).zeros("out", 8 * n).arg("stages", stages);
      CASE(walsh_hadamard, n / 2048, block, 8192).floats("data", n).arg("log2_size", 11);
    }
  for (int block : {64, 128, 256})
    for (int n : {4096, 16384, 32768})
      CASE(dft_naive, n / block, block, 0)
          .floats("in", n).zeros("re", 4 * n).zeros("im", 4 * n).arg("n", n);
  for (int width : {512, 1024, 2048, 4096, 8192})
    CASE(dct8x8, dim3(width / 32, width / 8), dim3(8, 8, 4), 0)
        .floats("in", (size_t)width * width).zeros("out", 4ull * width * width)
        .arg("width", width);
}
