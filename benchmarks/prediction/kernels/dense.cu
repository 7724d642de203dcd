// Dense linear algebra.
#include "cases.h"

using bench::ceil_div;

extern "C" __global__ void gemm_naive(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

extern "C" __global__ void dgemm_naive(const double* a, const double* b, double* c, int n,
                                       double alpha, double beta) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
  }
}

template <int kTile>
__device__ void tile_product(const float* a, const float* b, float* c, int n) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int tile = 0; tile < n; tile += kTile) {
    left[ty][tx] = a[row * n + tile + tx];
    right[ty][tx] = b[(tile + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < kTile; k++) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

extern "C" __global__ void gemm_tiled16(const float* a, const float* b, float* c, int n) {
  tile_product<16>(a, b, c, n);
}

extern "C" __global__ void gemm_tiled32(const float* a, const float* b, float* c, int n) {
  tile_product<32>(a, b, c, n);
}

// 64 x 64 results for each block of 256 threads, 4 x 4 for each thread.
extern "C" __global__ void __launch_bounds__(256)
    gemm_register(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                  int n) {
  __shared__ float left[16][64 + 4];
  __shared__ float right[16][64];
  int t = threadIdx.x;
  int tx = t % 16, ty = t / 16;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (int i = t; i < 1024; i += 256) {
      left[i % 16][i / 16] = a[(row0 + i / 16) * n + k0 + i % 16];
      right[i / 64][i % 64] = b[(k0 + i / 64) * n + col0 + i % 64];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) {
      float x[4], y[4];
      for (int i = 0; i < 4; i++) x[i] = left[k][ty * 4 + i];
      for (int j = 0; j < 4; j++) y[j] = right[k][tx * 4 + j];
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row0 + ty * 4 + i) * n + col0 + tx * 4 + j] = sum[i][j];
}

extern "C" __global__ void syrk(const float* a, float* c, int n, int m, float alpha, float beta) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float sum = beta * c[i * n + j];
  for (int k = 0; k < m; k++) sum += alpha * a[i * m + k] * a[j * m + k];
  c[i * n + j] = sum;
}

extern "C" __global__ void gemv_row(const float* __restrict__ a, const float* __restrict__ x,
                                    float* __restrict__ y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < cols; k++) sum += a[(size_t)row * cols + k] * x[k];
  y[row] = sum;
}

extern "C" __global__ void gemv_warp(const float* __restrict__ a, const float* __restrict__ x,
                                     float* __restrict__ y, int rows, int cols) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = lane; k < cols; k += 32) sum += a[(size_t)row * cols + k] * x[k];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void gemv_transposed(const double* __restrict__ a,
                                           const double* __restrict__ x, double* __restrict__ y,
                                           int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  double sum = 0.0;
  for (int k = 0; k < rows; k++) sum += a[(size_t)k * cols + col] * x[k];
  y[col] = sum;
}

extern "C" __global__ void axpy(int n, float alpha, const float* __restrict__ x,
                                float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = alpha * x[i] + y[i];
}

extern "C" __global__ void daxpy_stride(int n, double alpha, const double* __restrict__ x,
                                        double* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = alpha * x[i] + y[i];
}

extern "C" __global__ void triad4(int n4, float alpha, const float4* __restrict__ b,
                                  const float4* __restrict__ c, float4* __restrict__ a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 u = b[i], v = c[i];
  a[i] = make_float4(u.x + alpha * v.x, u.y + alpha * v.y, u.z + alpha * v.z, u.w + alpha * v.w);
}

extern "C" __global__ void dot(const float* __restrict__ x, const float* __restrict__ y,
                               float* result, int n) {
  __shared__ float partial[1024];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i] * y[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) partial[threadIdx.x] += partial[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// One elimination step below row k of an n x n matrix.
extern "C" __global__ void gauss_eliminate(float* a, const float* factors, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x + k;
  int row = blockIdx.y * blockDim.y + threadIdx.y + k + 1;
  if (col < n && row < n) a[row * n + col] -= factors[row] * 1e-6f * a[k * n + col];
}

KERNELS(dense) {
  for (int n : {512, 1024, 2048})
    for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(8, 8), dim3(32, 32)})
      CASE(gemm_naive, dim3(ceil_div(n, block.x), ceil_div(n, block.y)), block, 0)
          .floats("a", n * n).floats("b", n * n).zeros("c", 4 * n * n).arg("n", n);
  for (int n : {384, 768, 1280})
    for (dim3 block : {dim3(16, 16), dim3(32, 4), dim3(32, 16)})
      CASE(dgemm_naive, dim3(ceil_div(n, block.x), ceil_div(n, block.y)), block, 0)
          .doubles("a", n * n).doubles("b", n * n).zeros("c", 8 * n * n).arg("n", n)
          .arg("alpha", 1.5).arg("beta", 0.5);
  for (int n : {256, 512, 1024, 1536, 2048, 3072}) {
    CASE(gemm_tiled16, dim3(n / 16, n / 16), dim3(16, 16), 0)
        .floats("a", n * n).floats("b", n * n).zeros("c", 4 * n * n).arg("n", n);
    CASE(gemm_tiled32, dim3(n / 32, n / 32), dim3(32, 32), 0)
        .floats("a", n * n).floats("b", n * n).zeros("c", 4 * n * n).arg("n", n);
    CASE(gemm_register, dim3(n / 64, n / 64), 256, 0)
        .floats("a", n * n).floats("b", n * n).zeros("c", 4 * n * n).arg("n", n);
  }
  for (int n : {256, 512, 1024})
    for (dim3 block : {dim3(16, 16), dim3(32, 8)})
      CASE(syrk, dim3(ceil_div(n, block.x), ceil_div(n, block.y)), block, 0)
          .floats("a", n * 512).zeros("c", 4 * n * n).arg("n", n).arg("m", 512)
          .arg("alpha", 1.0f).arg("beta", 0.5f);
  for (int block : {64, 128, 256})
    for (int rows : {8192, 32768, 100000}) {
      CASE(gemv_row, ceil_div(rows, block), block, 0)
          .floats("a", (size_t)rows * 1024).floats("x", 1024).zeros("y", 4 * rows)
          .arg("rows", rows).arg("cols", 1024);
      CASE(gemv_warp, ceil_div(rows, block / 32), block, 0)
          .floats("a", (size_t)rows * 2048).floats("x", 2048).zeros("y", 4 * rows)
          .arg("rows", rows).arg("cols", 2048);
      CASE(gemv_transposed, ceil_div(rows, block), block, 0)
          .doubles("a", (size_t)rows * 768).doubles("x", 768).zeros("y", 8 * rows)
          .arg("rows", 768).arg("cols", rows);
    }
  for (int block : {64, 256, 1024})
    for (int n : {1 << 20, 1 << 23, 1 << 26}) {
      CASE(axpy, ceil_div(n, block), block, 0)
          .arg("n", n).arg("alpha", 2.5f).floats("x", n).floats("y", n);
      CASE(triad4, ceil_div(n / 4, block), block, 0)
          .arg("n4", n / 4).arg("alpha", 2.5f).floats("b", n).floats("c", n).zeros("a", 4ull * n);
      CASE(dot, 132 * (2048 / block), block, 0)
          .floats("x", n).floats("y", n).zeros("result", 4).arg("n", n);
    }
  for (int block : {128, 256, 512})
    for (int grid : {132, 528, 1056})
      CASE(daxpy_stride, grid, block, 0)
          .arg("n", 1 << 24).arg("alpha", 1e-3).doubles("x", 1 << 24).doubles("y", 1 << 24);
  for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(64, 4)})
    for (int n : {2048, 4096, 8192})
      CASE(gauss_eliminate, dim3(ceil_div(n - 100, block.x), ceil_div(n - 101, block.y)), block, 0)
          .floats("a", (size_t)n * n).floats("factors", n).arg("n", n).arg("k", 100);
}
