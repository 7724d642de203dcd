// Stencils, relaxation and other grid codes.
#include "cases.h"

using bench::ceil_div;

extern "C" __global__ void stencil2d5(const float* __restrict__ in, float* __restrict__ out, int nx,
                                      int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int i = y * nx + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx]);
}

extern "C" __global__ void stencil2d9(const float* in, float* out, int nx, int ny, float w0,
                                      float w1, float w2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1) {
    float sum = w0 * in[y * nx + x];
    sum += w1 * (in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] +
                 in[(y + 1) * nx + x]);
    sum += w2 * (in[(y - 1) * nx + x - 1] + in[(y - 1) * nx + x + 1] + in[(y + 1) * nx + x - 1] +
                 in[(y + 1) * nx + x + 1]);
    out[y * nx + x] = sum;
  }
}

// The plate's temperature after some steps inside one tile with a halo.
extern "C" __global__ void hotspot_tile(const float* __restrict__ temperature,
                                        const float* __restrict__ power, float* __restrict__ out,
                                        int n, int steps, float k) {
  __shared__ float now[18][18];
  __shared__ float next[18][18];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = min(max((int)(blockIdx.x * 16 + tx) - 1, 0), n - 1);
  int y = min(max((int)(blockIdx.y * 16 + ty) - 1, 0), n - 1);
  now[ty][tx] = temperature[y * n + x];
  float p = power[y * n + x];
  bool inside = tx > 0 && ty > 0 && tx < 17 && ty < 17;
  __syncthreads();
  for (int s = 0; s < steps; s++) {
    float value = now[ty][tx];
    if (inside)
      value += k * (p + now[ty][tx - 1] + now[ty][tx + 1] + now[ty - 1][tx] + now[ty + 1][tx] -
                    4.0f * value);
    next[ty][tx] = value;
    __syncthreads();
    now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (inside) out[y * n + x] = now[ty][tx];
}

extern "C" __global__ void stencil3d7(const float* __restrict__ in, float* __restrict__ out, int nx,
                                      int ny, int nz, float c0, float c1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int i = (z * ny + y) * nx + x;
  out[i] = c0 * in[i] + c1 * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] +
                              in[i + nx * ny]);
}

extern "C" __global__ void stencil3d27(const float* __restrict__ in, float* __restrict__ out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  float sum = 0.0f;
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) sum += in[((z + dz) * n + y + dy) * n + x + dx];
  out[(z * n + y) * n + x] = sum / 27.0f;
}

// Each thread walks up a column and keeps three planes in registers.
extern "C" __global__ void stencil3d_march(const double* __restrict__ in, double* __restrict__ out,
                                           int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int plane = nx * ny, i = y * nx + x;
  double below = in[i], here = in[i + plane];
  for (int z = 1; z < nz - 1; z++) {
    i += plane;
    double above = in[i + plane];
    out[i] = below + above + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] - 6.0 * here;
    below = here;
    here = above;
  }
}

// Eighth order in space, second in time.
extern "C" __global__ void wave3d(const float* __restrict__ now, float* __restrict__ before,
                                  const float* __restrict__ speed, int nx, int ny, int nz) {
  const float w[5] = {-2.847222f, 1.6f, -0.2f, 0.025397f, -0.001786f};
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 4 || y < 4 || x >= nx - 4 || y >= ny - 4) return;
  for (int z = 4; z < nz - 4; z++) {
    int i = (z * ny + y) * nx + x;
    float sum = 3.0f * w[0] * now[i];
    for (int r = 1; r <= 4; r++)
      sum += w[r] * (now[i - r] + now[i + r] + now[i - r * nx] + now[i + r * nx] +
                     now[i - r * nx * ny] + now[i + r * nx * ny]);
    before[i] = 2.0f * now[i] - before[i] + speed[i] * 1e-4f * sum;
  }
}

extern "C" __global__ void jacobi_double(const double* __restrict__ u, const double* __restrict__ f,
                                         double* __restrict__ next, int n, double h2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x < n - 1 && y < n - 1)
    next[y * n + x] = 0.25 * (u[y * n + x - 1] + u[y * n + x + 1] + u[(y - 1) * n + x] +
                              u[(y + 1) * n + x] - h2 * f[y * n + x]);
}

extern "C" __global__ void fdtd_step(float* ex, float* ey, const float* hz, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int i = y * nx + x;
  if (y > 0) ey[i] -= 0.5f * (hz[i] - hz[i - nx]);
  if (x > 0) ex[i] -= 0.5f * (hz[i] - hz[i - 1]);
}

extern "C" __global__ void srad_step(const float* __restrict__ image, float* __restrict__ out,
                                     int cols, int rows, float q0) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  float c = image[y * cols + x] + 0.1f;
  float n = image[max(y - 1, 0) * cols + x] + 0.1f - c;
  float s = image[min(y + 1, rows - 1) * cols + x] + 0.1f - c;
  float w = image[y * cols + max(x - 1, 0)] + 0.1f - c;
  float e = image[y * cols + min(x + 1, cols - 1)] + 0.1f - c;
  float g2 = (n * n + s * s + w * w + e * e) / (c * c);
  float l = (n + s + w + e) / c;
  float num = 0.5f * g2 - 0.0625f * l * l;
  float den = 1.0f + 0.25f * l;
  float q = num / (den * den);
  float d = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  out[y * cols + x] = c + 0.25f * d * (n + s + w + e);
}

// Two-dimensional lattice Boltzmann, nine directions, one array for each.
extern "C" __global__ void lbm_d2q9(const float* __restrict__ f, float* __restrict__ g, int nx,
                                    int ny, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
  const int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float w[9] = {4.f / 9,  1.f / 9,  1.f / 9,  1.f / 9, 1.f / 9,
                      1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  int cells = nx * ny;
  float value[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
#pragma unroll
  for (int d = 0; d < 9; d++) {
    int sx = (x - cx[d] + nx) % nx, sy = (y - cy[d] + ny) % ny;
    value[d] = f[d * cells + sy * nx + sx];
    density += value[d];
    ux += cx[d] * value[d];
    uy += cy[d] * value[d];
  }
  ux /= density;
  uy /= density;
  float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
  for (int d = 0; d < 9; d++) {
    float cu = 3.0f * (cx[d] * ux + cy[d] * uy);
    float equilibrium = w[d] * density * (1.0f + cu + 0.5f * cu * cu - square);
    g[d * cells + y * nx + x] = value[d] + omega * (equilibrium - value[d]);
  }
}

KERNELS(stencil) {
  for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(128, 1), dim3(32, 32)})
    for (int n : {1024, 4096, 8192}) {
      dim3 grid(ceil_div(n, block.x), ceil_div(n, block.y));
      size_t cells = (size_t)n * n;
      CASE(stencil2d5, grid, block, 0)
          .floats("in", cells).zeros("out", 4 * cells).arg("nx", n).arg("ny", n);
      CASE(stencil2d9, grid, block, 0)
          .floats("in", cells).zeros("out", 4 * cells).arg("nx", n).arg("ny", n)
          .arg("w0", 0.5f).arg("w1", 0.1f).arg("w2", 0.025f);
      CASE(jacobi_double, grid, block, 0)
          .doubles("u", cells).doubles("f", cells).zeros("next", 8 * cells).arg("n", n)
          .arg("h2", 1e-4);
      CASE(fdtd_step, grid, block, 0)
          .floats("ex", cells).floats("ey", cells).floats("hz", cells).arg("nx", n).arg("ny", n);
      CASE(srad_step, grid, block, 0)
          .floats("image", cells).zeros("out", 4 * cells).arg("cols", n).arg("rows", n)
          .arg("q0", 0.05f);
    }
  for (int n : {1024, 2048, 4096})
    for (int steps : {1, 4, 16})
      CASE(hotspot_tile, dim3(n / 16, n / 16), dim3(18, 18), 0)
          .floats("temperature", n * n).floats("power", n * n).zeros("out", 4 * n * n).arg("n", n)
          .arg("steps", steps).arg("k", 0.1f);
  for (dim3 block : {dim3(32, 4, 2), dim3(32, 8, 1), dim3(8, 8, 8), dim3(64, 4, 1)})
    for (int n : {128, 256, 512}) {
      dim3 grid(ceil_div(n, block.x), ceil_div(n, block.y), ceil_div(n, block.z));
      size_t cells = (size_t)n * n * n;
      CASE(stencil3d7, grid, block, 0)
          .floats("in", cells).zeros("out", 4 * cells).arg("nx", n).arg("ny", n).arg("nz", n)
          .arg("c0", 0.5f).arg("c1", 0.08f);
      CASE(stencil3d27, grid, block, 0)
          .floats("in", cells).zeros("out", 4 * cells).arg("n", n);
    }
  for (dim3 block : {dim3(32, 4), dim3(32, 8), dim3(64, 8)})
    for (int n : {256, 512}) {
      dim3 grid(ceil_div(n, block.x), ceil_div(n, block.y));
      for (int nz : {64, 256}) {
        size_t cells = (size_t)n * n * nz;
        CASE(stencil3d_march, grid, block, 0)
            .doubles("in", cells).zeros("out", 8 * cells).arg("nx", n).arg("ny", n).arg("nz", nz);
        CASE(wave3d, grid, block, 0)
            .floats("now", cells).floats("before", cells).floats("speed", cells).arg("nx", n)
            .arg("ny", n).arg("nz", nz);
      }
    }
  for (dim3 block : {dim3(32, 4), dim3(128, 1), dim3(32, 16)})
    for (int n : {512, 1024, 4096})
      CASE(lbm_d2q9, dim3(ceil_div(n, block.x), ceil_div(n, block.y)), block, 0)
          .floats("f", (size_t)9 * n * n).zeros("g", (size_t)36 * n * n).arg("nx", n).arg("ny", n)
          .arg("omega", 1.2f);
}
