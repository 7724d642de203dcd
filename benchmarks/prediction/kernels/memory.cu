// Moving data: transposes, copies, gathers, tables, atomics.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

extern "C" __global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out,
                                           int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

template <int kPad>
__device__ void transpose_tile(const float* in, float* out, int n) {
  __shared__ float tile[32][32 + kPad];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void transpose_conflicts(const float* in, float* out, int n) {
  transpose_tile<0>(in, out, n);
}
extern "C" __global__ void transpose_padded(const float* in, float* out, int n) {
  transpose_tile<1>(in, out, n);
}

extern "C" __global__ void copy_strided(const float* __restrict__ in, float* __restrict__ out, int n,
                                        int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}

extern "C" __global__ void copy_double2(const double2* __restrict__ in, double2* __restrict__ out,
                                        int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i];
}

extern "C" __global__ void fill_bytes(unsigned char* out, int n, unsigned char value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

extern "C" __global__ void gather(const int* __restrict__ index, const float* __restrict__ from,
                                  float* __restrict__ to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[index[i]];
}

extern "C" __global__ void scatter(const int* __restrict__ index, const float* __restrict__ from,
                                   float* __restrict__ to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[index[i]] = from[i];
}

extern "C" __global__ void pointer_chase(const int* __restrict__ next, int* __restrict__ out,
                                         int hops) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = i;
  for (int h = 0; h < hops; h++) at = next[at];
  out[i] = at;
}

struct Particle {
  float x, y, z, vx, vy, vz, mass, charge;
};
extern "C" __global__ void structs_to_arrays(const Particle* __restrict__ in, float* __restrict__ x,
                                             float* __restrict__ y, float* __restrict__ kinetic,
                                             int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle p = in[i];
  x[i] = p.x;
  y[i] = p.y;
  kinetic[i] = 0.5f * p.mass * (p.vx * p.vx + p.vy * p.vy + p.vz * p.vz);
}

extern "C" __global__ void atomic_one(unsigned* counter, int rounds) {
  for (int r = 0; r < rounds; r++) atomicAdd(counter, threadIdx.x);
}

extern "C" __global__ void atomic_spread(float* sums, int mask, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; r++) atomicAdd(&sums[(i + r * 977) & mask], 1.0f);
}

extern "C" __global__ void shared_shuffle(const float* __restrict__ in, float* __restrict__ out,
                                          int n, int rounds, int stride) {
  __shared__ float values[1024];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  values[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int r = 0; r < rounds; r++) sum += values[(t * stride + r) % blockDim.x];
  if (i < n) out[i] = sum;
}

KERNELS(memory) {
  for (int n : {1024, 2048, 4096, 8192}) {
    size_t bytes = 4ull * n * n;
    for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(32, 32)})
      CASE(transpose_naive, dim3(n / block.x, n / block.y), block, 0)
          .floats("in", bytes / 4).zeros("out", bytes).arg("n", n);
    CASE(transpose_conflicts, dim3(n / 32, n / 32), dim3(32, 8), 0)
        .floats("in", bytes / 4).zeros("out", bytes).arg("n", n);
    CASE(transpose_padded, dim3(n / 32, n / 32), dim3(32, 8), 0)
        .floats("in", bytes / 4).zeros("out", bytes).arg("n", n);
  }
  for (int block : {64, 256, 1024})
    for (int stride : {2, 4, 8, 32})
      CASE(copy_strided, ceil_div(1 << 22, block), block, 0)
          .floats("in", (size_t)stride << 22).zeros("out", 4 << 22).arg("n", 1 << 22)
          .arg("stride", stride);
  for (int block : {128, 256, 512})
    for (int n : {1 << 21, 1 << 23, 1 << 25}) {
      CASE(copy_double2, 132 * 2, block, 0)
          .doubles("in", 2ull * n / 4).zeros("out", 4ull * n).arg("n", n / 4);
      CASE(fill_bytes, ceil_div(n, block), block, 0)
          .zeros("out", n).arg("n", n).arg("value", (unsigned char)7);
      CASE(gather, ceil_div(n, block), block, 0)
          .ints("index", n, n).floats("from", n).zeros("to", 4ull * n).arg("n", n);
      CASE(scatter, ceil_div(n / 2, block), block, 0)
          .ints("index", n / 2, n / 2).floats("from", n / 2).zeros("to", 2ull * n)
          .arg("n", n / 2);
      CASE(structs_to_arrays, ceil_div(n / 2, block), block, 0)
          .floats("in", 4ull * n).zeros("x", 2ull * n).zeros("y", 2ull * n)
          .zeros("kinetic", 2ull * n).arg("n", n / 2);
    }
  for (int block : {32, 128, 512})
    for (int grid : {33, 132, 528})
      CASE(pointer_chase, grid, block, 0)
          .ints("next", 1 << 26, 1 << 26).zeros("out", 4 * grid * block).arg("hops", 64);
  for (int block : {64, 256})
    for (int grid : {132, 528, 1056}) {
      CASE(atomic_one, grid, block, 0).zeros("counter", 4).arg("rounds", 50);
      for (int bits : {10, 16, 22})
        CASE(atomic_spread, grid, block, 0)
            .zeros("sums", 4ull << bits).arg("mask", (1 << bits) - 1).arg("rounds", 50);
    }
  for (int block : {256, 512, 1024})
    for (int stride : {1, 2, 8, 33})
      CASE(shared_shuffle, (1 << 20) / block, block, 0)
          .floats("in", 1 << 20).zeros("out", 4 << 20).arg("n", 1 << 20).arg("rounds", 128)
          .arg("stride", stride);
}
