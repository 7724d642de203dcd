// Reductions and scans.
#include "cases.h"

using bench::ceil_div;

// The textbook's first version: threads part, and neighbours are added.
extern "C" __global__ void reduce_interleaved(const float* in, float* out, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    if (t % (2 * s) == 0) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_sequential(const float* in, float* out, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + t;
  part[t] = (i < n ? in[i] : 0.0f) + (i + blockDim.x < n ? in[i + blockDim.x] : 0.0f);
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_shuffle(const float* __restrict__ in, float* out, int n) {
  __shared__ float warps[32];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

extern "C" __global__ void reduce_max(const int4* __restrict__ in, int* result, int n4) {
  int best = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    int4 v = in[i];
    best = max(best, max(max(v.x, v.y), max(v.z, v.w)));
  }
  best = __reduce_max_sync(~0u, best);
  if (threadIdx.x % 32 == 0) atomicMax(result, best);
}

extern "C" __global__ void row_norms(const double* __restrict__ a, double* __restrict__ norms,
                                     int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0.0;
  for (int c = 0; c < cols; c++) {
    double v = a[(size_t)c * rows + row];
    sum += v * v;
  }
  norms[row] = sqrt(sum);
}

extern "C" __global__ void scan_hillis(const float* in, float* out, int n) {
  extern __shared__ float buffer[];
  int t = threadIdx.x, size = blockDim.x, i = blockIdx.x * size + t;
  float* from = buffer;
  float* to = buffer + size;
  from[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int d = 1; d < size; d <<= 1) {
    to[t] = t >= d ? from[t] + from[t - d] : from[t];
    __syncthreads();
    float* other = from;
    from = to;
    to = other;
  }
  if (i < n) out[i] = from[t];
}

extern "C" __global__ void scan_blelloch(const int* in, int* out, int n) {
  extern __shared__ int tree[];
  int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size, offset = 1;
  tree[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  tree[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
  for (int d = size >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      tree[b] += tree[a];
    }
    offset *= 2;
  }
  if (t == 0) tree[size - 1] = 0;
  for (int d = 1; d < size; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      int keep = tree[a];
      tree[a] = tree[b];
      tree[b] += keep;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = tree[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = tree[2 * t + 1];
}

extern "C" __global__ void scan_warp(const int* __restrict__ in, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int lane = threadIdx.x % 32, value = in[i];
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(~0u, value, d);
    if (lane >= d) value += other;
  }
  out[i] = value;
}

extern "C" __global__ void add_offsets(float* data, const float* __restrict__ offsets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1e-3f * offsets[blockIdx.x];
}

extern "C" __global__ void prefix_serial(const float* __restrict__ in, float* __restrict__ out,
                                         int rows, int length) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < length; k++) {
    sum += in[(size_t)k * rows + row];
    out[(size_t)k * rows + row] = sum;
  }
}

KERNELS(reduce) {
  for (int block : {128, 256, 512, 1024})
    for (int n : {1 << 20, 1 << 23, 1 << 25}) {
      CASE(reduce_interleaved, ceil_div(n, block), block, 4 * block)
          .floats("in", n).zeros("out", 4 * ceil_div(n, block)).arg("n", n);
      CASE(reduce_sequential, ceil_div(n, 2 * block), block, 4 * block)
          .floats("in", n).zeros("out", 4 * ceil_div(n, block)).arg("n", n);
      CASE(reduce_shuffle, min(ceil_div(n, block), 2112u), block, 0)
          .floats("in", n).zeros("out", 4 * 2112).arg("n", n);
      CASE(scan_hillis, ceil_div(n, block), block, 8 * block)
          .floats("in", n).zeros("out", 4 * n).arg("n", n);
      CASE(scan_blelloch, ceil_div(n, 2 * block), block, 8 * block)
          .ints("in", n, 100).zeros("out", 4 * n).arg("n", n);
      CASE(scan_warp, ceil_div(n, block), block, 0)
          .ints("in", n, 100).zeros("out", 4 * n).arg("n", n);
      CASE(add_offsets, ceil_div(n, block), block, 0)
          .floats("data", n).floats("offsets", ceil_div(n, block)).arg("n", n);
    }
  for (int block : {64, 256, 512})
    for (int grid : {132, 264, 1056})
      CASE(reduce_max, grid, block, 0).ints("in", 1 << 25, 1u << 30).zeros("result", 4)
          .arg("n4", 1 << 23);
  for (int block : {32, 64, 128, 256})
    for (int rows : {4096, 16384, 65536}) {
      CASE(row_norms, ceil_div(rows, block), block, 0)
          .doubles("a", (size_t)rows * 500).zeros("norms", 8 * rows).arg("rows", rows)
          .arg("cols", 500);
      CASE(prefix_serial, ceil_div(rows, block), block, 0)
          .floats("in", (size_t)rows * 256).zeros("out", (size_t)rows * 1024).arg("rows", rows)
          .arg("length", 256);
    }
}
