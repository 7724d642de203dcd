// Particles, Monte Carlo and other arithmetic.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

extern "C" __global__ void nbody_naive(const float4* __restrict__ position,
                                       float4* __restrict__ force, int n, float softening) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = position[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int j = 0; j < n; j++) {
    float4 other = position[j];
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    float s = other.w * inverse * inverse * inverse;
    ax += dx * s;
    ay += dy * s;
    az += dz * s;
  }
  force[i] = make_float4(ax, ay, az, 0.0f);
}

extern "C" __global__ void nbody_shared(const float4* __restrict__ position,
                                        float4* __restrict__ force, int n, float softening) {
  extern __shared__ float4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = position[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int base = 0; base < n; base += blockDim.x) {
    tile[threadIdx.x] = position[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < blockDim.x; j++) {
      float4 other = tile[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      float s = other.w * inverse * inverse * inverse;
      ax += dx * s;
      ay += dy * s;
      az += dz * s;
    }
    __syncthreads();
  }
  force[i] = make_float4(ax, ay, az, 0.0f);
}

extern "C" __global__ void nbody_double(const double* __restrict__ x, const double* __restrict__ y,
                                        const double* __restrict__ z, double* __restrict__ potential,
                                        int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0.0, px = x[i], py = y[i], pz = z[i];
  for (int j = 0; j < n; j++) {
    double dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
    sum += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);
  }
  potential[i] = sum;
}

extern "C" __global__ void lennard_jones(const float4* __restrict__ position,
                                         const int* __restrict__ neighbor,
                                         float4* __restrict__ force, int n, int neighbors,
                                         float cutoff2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = position[i];
  float3 sum = make_float3(0.0f, 0.0f, 0.0f);
  for (int k = 0; k < neighbors; k++) {
    float4 other = position[neighbor[k * n + i]];  // near: lj_near
    float dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
    float r2 = dx * dx + dy * dy + dz * dz + 1e-3f;
    if (r2 < cutoff2) {  // trips: lj_inside
      float r2i = 1.0f / r2, r6 = r2i * r2i * r2i;
      float f = r2i * r6 * (1.5f * r6 - 2.0f);
      sum.x += dx * f;
      sum.y += dy * f;
      sum.z += dz * f;
    }
  }
  force[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}

__constant__ float4 kAtoms[1024] = {{1.0f, 2.0f, 3.0f, 4.0f}};

extern "C" __global__ void coulomb_grid(float* energy, int width, int atoms, float spacing) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= width) return;
  float px = x * spacing, py = y * spacing, sum = 0.0f;
  for (int a = 0; a < atoms; a++) {
    float dx = px - kAtoms[a].x, dy = py - kAtoms[a].y;
    sum += kAtoms[a].w * rsqrtf(dx * dx + dy * dy + kAtoms[a].z + 0.5f);
  }
  energy[y * width + x] += sum;
}

extern "C" __global__ void leapfrog(float4* position, float4* velocity, const float4* force, int n,
                                    float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = position[i], v = velocity[i], f = force[i];
  v.x += dt * f.x;
  v.y += dt * f.y;
  v.z += dt * f.z;
  p.x += dt * v.x;
  p.y += dt * v.y;
  p.z += dt * v.z;
  velocity[i] = v;
  position[i] = p;
}

__device__ unsigned next_random(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

extern "C" __global__ void mc_pi(unsigned* hits, int samples) {
  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + 1u, inside = 0;
  for (int s = 0; s < samples; s++) {
    float x = next_random(state) * 2.3283064e-10f, y = next_random(state) * 2.3283064e-10f;
    inside += x * x + y * y < 1.0f;
  }
  inside = __reduce_add_sync(~0u, inside);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, inside);
}

extern "C" __global__ void mc_option(float* payoff, int steps, float drift, float volatility,
                                     float strike) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = i * 2891336453u + 7u;
  float price = 100.0f;
  for (int s = 0; s < steps; s++) {
    float u = (next_random(state) + 1.0f) * 2.3283064e-10f, v = next_random(state) * 1.4629181e-9f;
    float normal = sqrtf(-2.0f * __logf(u)) * __cosf(v);
    price *= __expf(drift + volatility * normal);
  }
  payoff[i] = fmaxf(price - strike, 0.0f);
}

extern "C" __global__ void ising_step(signed char* spins, int width, int height, int color,
                                      float beta, unsigned seed) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height || ((x + y) & 1) != color) return;
  int left = x ? x - 1 : width - 1, right = x + 1 < width ? x + 1 : 0;
  int up = y ? y - 1 : height - 1, down = y + 1 < height ? y + 1 : 0;
  int sum = spins[y * width + left] + spins[y * width + right] + spins[up * width + x] +
            spins[down * width + x];
  unsigned state = (y * width + x) * 747796405u ^ seed;
  float chance = __expf(-2.0f * beta * spins[y * width + x] * sum);
  if (next_random(state) * 2.3283064e-10f < chance) spins[y * width + x] = -spins[y * width + x];
}

extern "C" __global__ void black_scholes(const float* __restrict__ spot,
                                         const float* __restrict__ strike,
                                         const float* __restrict__ years, float* __restrict__ call,
                                         float* __restrict__ put, int n, float rate,
                                         float volatility) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 50.0f + spot[i], x = 40.0f + 20.0f * strike[i], t = 0.1f + years[i];
  float root = sqrtf(t);
  float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root;
  float n1 = normcdff(d1), n2 = normcdff(d2), discount = expf(-rate * t);
  call[i] = s * n1 - x * discount * n2;
  put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

extern "C" __global__ void binomial_option(const float* __restrict__ spot, float* __restrict__ value,
                                           int steps, float up, float p, float discount) {
  extern __shared__ float tree[];
  int t = threadIdx.x;
  float s = 80.0f + 40.0f * spot[blockIdx.x];
  for (int i = t; i <= steps; i += blockDim.x)
    tree[i] = fmaxf(s * exp2f(up * (2 * i - steps)) - 100.0f, 0.0f);
  for (int level = steps; level > 0; level--) {
    __syncthreads();
    float next = t < level ? discount * (p * tree[t + 1] + (1.0f - p) * tree[t]) : 0.0f;
    __syncthreads();
    if (t < level) tree[t] = next;
  }
  if (t == 0) value[blockIdx.x] = tree[0];
}

extern "C" __global__ void mandelbrot(int* iterations, int width, int height, int limit, float x0,
                                      float y0, float scale) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = x0 + px * scale, cy = y0 + py * scale, x = 0.0f, y = 0.0f;
  int i = 0;
  while (i < limit && x * x + y * y < 4.0f) {  // trips: mandelbrot
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    i++;
  }
  iterations[py * width + px] = i;
}

extern "C" __global__ void julia_fixed(float* out, int width, int steps, double cx, double cy) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  double x = px * (2.0 / width) - 1.0, y = py * (2.0 / width) - 1.0;
  for (int i = 0; i < steps; i++) {
    double next = fmin(fmax(x * x - y * y + cx, -4.0), 4.0);
    y = fmin(fmax(2.0 * x * y + cy, -4.0), 4.0);
    x = next;
  }
  out[py * width + px] = (float)(x * x + y * y);
}

extern "C" __global__ void horner(const float* __restrict__ in, float* __restrict__ out, int n,
                                  int degree) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], sum = 1.0f;
  for (int k = 0; k < degree; k++) sum = sum * x + 0.5f;
  out[i] = sum;
}

extern "C" __global__ void runge_kutta(double* state, int n, int steps, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = state[i], v = state[n + i];
  for (int s = 0; s < steps; s++) {
    double k1x = v, k1v = -x - 0.1 * v;
    double k2x = v + 0.5 * dt * k1v, k2v = -(x + 0.5 * dt * k1x) - 0.1 * k2x;
    double k3x = v + 0.5 * dt * k2v, k3v = -(x + 0.5 * dt * k2x) - 0.1 * k3x;
    double k4x = v + dt * k3v, k4v = -(x + dt * k3x) - 0.1 * k4x;
    x += dt / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x);
    v += dt / 6.0 * (k1v + 2.0 * k2v + 2.0 * k3v + k4v);
  }
  state[i] = x;
  state[n + i] = v;
}

KERNELS(particles) {
  for (int block : {64, 128, 256})
    for (int n : {4096, 16384, 32768}) {
      CASE(nbody_naive, ceil_div(n, block), block, 0)
          .floats("position", 4 * n).zeros("force", 16 * n).arg("n", n).arg("softening", 0.01f);
      CASE(nbody_shared, n / block, block, 16 * block)
          .floats("position", 4 * n).zeros("force", 16 * n).arg("n", n).arg("softening", 0.01f);
      CASE(nbody_double, ceil_div(n / 2, block), block, 0)
          .doubles("x", n / 2).doubles("y", n / 2).doubles("z", n / 2).zeros("potential", 4 * n)
          .arg("n", n / 2);
      CASE(lennard_jones, ceil_div(8 * n, block), block, 0)
          .floats("position", 32 * n)
          .data<int>("neighbor", 8ull * n * 64,
                     [n](size_t i) { return (i % (8 * n) + hash(i) % 512) % (8 * n); })
          .zeros("force", 128 * n).arg("n", 8 * n).arg("neighbors", 64).arg("cutoff2", 4.0f)
          .trips("lj_inside", 1.0).near("lj_near", (31 + 512) * 16);
      CASE(leapfrog, ceil_div(64 * n, block), block, 0)
          .floats("position", 256 * n).floats("velocity", 256 * n).floats("force", 256 * n)
          .arg("n", 64 * n).arg("dt", 1e-5f);
      CASE(black_scholes, ceil_div(256 * n, block), block, 0)
          .floats("spot", 256 * n).floats("strike", 256 * n).floats("years", 256 * n)
          .zeros("call", 1024 * n).zeros("put", 1024 * n).arg("n", 256 * n).arg("rate", 0.02f)
          .arg("volatility", 0.3f);
    }
  for (dim3 block : {dim3(32, 4), dim3(16, 16), dim3(32, 16)})
    for (int width : {512, 1024, 2048}) {
      dim3 grid(ceil_div(width, block.x), ceil_div(width, block.y));
      CASE(coulomb_grid, grid, block, 0)
          .floats("energy", width * width).arg("width", width).arg("atoms", 512)
          .arg("spacing", 0.1f);
      CASE(ising_step, grid, block, 0)
          .buffer("spins", width * width, bench::Argument::Fill::host).arg("width", width)
          .arg("height", width).arg("color", 0).arg("beta", 0.44f).arg("seed", 12345u);
      cases.all.back().arguments[0].write = [width](void* to) {
        for (int i = 0; i < width * width; i++)
          static_cast<signed char*>(to)[i] = hash(i) % 2 ? 1 : -1;
      };
      // All of this window lies in the set: every pixel takes the limit.
      CASE(mandelbrot, grid, block, 0)
          .zeros("iterations", 4 * width * width).arg("width", width).arg("height", width)
          .arg("limit", 512).arg("x0", -0.2f).arg("y0", -0.1f).arg("scale", 0.2f / width)
          .trips("mandelbrot", 512);
      CASE(julia_fixed, grid, block, 0)
          .zeros("out", 4 * width * width).arg("width", width).arg("steps", 200).arg("cx", -0.4)
          .arg("cy", 0.6);
    }
  for (int block : {64, 128, 256, 512})
    for (int grid : {66, 264, 1320}) {
      CASE(mc_pi, grid, block, 0).zeros("hits", 4).arg("samples", 4096);
      CASE(mc_option, grid, block, 0)
          .zeros("payoff", 4 * grid * block).arg("steps", 1000).arg("drift", 1e-5f)
          .arg("volatility", 0.01f).arg("strike", 100.0f);
      CASE(runge_kutta, grid, block, 0)
          .doubles("state", 2 * grid * block).arg("n", grid * block).arg("steps", 500)
          .arg("dt", 1e-3);
    }
  for (int steps : {127, 255, 511})
    for (int options : {512, 2048, 8192})
      CASE(binomial_option, options, steps + 1, 4 * (steps + 1))
          .floats("spot", options).zeros("value", 4 * options).arg("steps", steps)
          .arg("up", 0.01f).arg("p", 0.51f).arg("discount", 0.9999f);
  for (int block : {128, 256, 1024})
    for (int degree : {32, 256, 1000})
      CASE(horner, (1 << 21) / block, block, 0)
          .floats("in", 1 << 21).zeros("out", 4 << 21).arg("n", 1 << 21).arg("degree", degree);
}
