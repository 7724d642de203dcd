// Sparse matrices and graphs. Rows have 8 to 24 entries, 16 on average, unless it is said.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

extern "C" __global__ void spmv_csr_scalar(const int* __restrict__ first,
                                           const int* __restrict__ column,
                                           const float* __restrict__ value,
                                           const float* __restrict__ x, float* __restrict__ y,
                                           int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = first[row]; i < first[row + 1]; i++)  // trips: spmv_scalar
    sum += value[i] * x[column[i]];
  y[row] = sum;
}

extern "C" __global__ void spmv_csr_vector(const int* __restrict__ first,
                                           const int* __restrict__ column,
                                           const double* __restrict__ value,
                                           const double* __restrict__ x, double* __restrict__ y,
                                           int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0.0;
  for (int i = first[row] + lane; i < first[row + 1]; i += 32)  // trips: spmv_vector
    sum += value[i] * x[column[i]];  // near: spmv_near
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void spmv_ell(const int* __restrict__ column, const float* __restrict__ value,
                                    const float* __restrict__ x, float* __restrict__ y, int rows,
                                    int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < width; k++) {
    size_t i = (size_t)k * rows + row;
    sum += value[i] * x[column[i]];
  }
  y[row] = sum;
}

extern "C" __global__ void spmv_coo(const int* __restrict__ row, const int* __restrict__ column,
                                    const float* __restrict__ value, const float* __restrict__ x,
                                    float* y, int entries) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < entries) atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}

extern "C" __global__ void spmv_dia(const float* __restrict__ bands, const float* __restrict__ x,
                                    float* __restrict__ y, int rows, int count, int spread) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int b = 0; b < count; b++) {
    int col = row + (b - count / 2) * spread;
    if (col >= 0 && col < rows) sum += bands[(size_t)b * rows + row] * x[col];
  }
  y[row] = sum;
}

extern "C" __global__ void pagerank_pull(const int* __restrict__ first,
                                         const int* __restrict__ neighbor,
                                         const float* __restrict__ rank,
                                         const int* __restrict__ degree, float* __restrict__ next,
                                         int nodes, float damping) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  float sum = 0.0f;
  int end = first[node + 1];
  for (int i = first[node]; i < end; i++) {  // trips: pagerank
    int other = neighbor[i];
    sum += rank[other] / degree[other];
  }
  next[node] = (1.0f - damping) / nodes + damping * sum;
}

// A step of a breadth-first search; one node in eight is in the frontier, none is new after that.
extern "C" __global__ void bfs_step(const int* __restrict__ first, const int* __restrict__ neighbor,
                                    const int* __restrict__ frontier, int* distance, int* next,
                                    int nodes, int level) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || frontier[node] != 0) return;  // trips: bfs_in_frontier
  for (int i = first[node]; i < first[node + 1]; i++) {  // trips: bfs_neighbors
    int other = neighbor[i];
    if (distance[other] > level) {  // trips: bfs_new
      distance[other] = level;
      next[other] = 1;
    }
  }
}

extern "C" __global__ void sssp_relax(const int* __restrict__ from, const int* __restrict__ to,
                                      const int* __restrict__ weight, int* distance, int edges) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= edges) return;
  int candidate = distance[from[i]] + weight[i];
  if (candidate < distance[to[i]]) atomicMin(&distance[to[i]], candidate);  // trips: sssp_better
}

extern "C" __global__ void label_propagate(const int* __restrict__ first,
                                           const int* __restrict__ neighbor,
                                           const int* __restrict__ label, int* __restrict__ next,
                                           int nodes) {
  int node = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (node >= nodes) return;
  int best = label[node];
  for (int i = first[node] + lane; i < first[node + 1]; i += 8)  // trips: label_neighbors
    best = min(best, label[neighbor[i]]);  // near: label_near
  for (int d = 4; d > 0; d >>= 1) best = min(best, __shfl_xor_sync(~0u, best, d));
  if (lane == 0) next[node] = best;
}

extern "C" __global__ void degree_count(const int* __restrict__ to, int* degree, int edges) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < edges; i += gridDim.x * blockDim.x)
    atomicAdd(&degree[to[i]], 1);
}

extern "C" __global__ void gauss_seidel_color(const int* __restrict__ column,
                                              const double* __restrict__ value, double* x,
                                              const double* __restrict__ b, int rows, int width,
                                              int color, int colors) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) * colors + color;
  if (row >= rows) return;
  double sum = b[row];
  for (int k = 0; k < width; k++) sum -= 1e-3 * value[k * rows + row] * x[column[k * rows + row]];
  x[row] = sum / 4.0;
}

KERNELS(sparse) {
  // Row r begins at 16 r, moved by up to 4 on either side.
  auto first = [](size_t r) { return 16 * r + (r ? hash(r) % 9 : 4); };
  for (int block : {64, 128, 256})
    for (int rows : {1 << 16, 1 << 18, 1 << 20}) {
      size_t entries = 16ull * rows + 16;
      auto near = [rows](size_t i) {
        long c = (long)(i / 16) + hash(i) % 4096 - 2048;
        return c < 0 ? 0 : c >= rows ? rows - 1 : c;
      };
      CASE(spmv_csr_scalar, ceil_div(rows, block), block, 0)
          .data<int>("first", rows + 1, first).ints("column", entries, rows)
          .floats("value", entries).floats("x", rows).zeros("y", 4 * rows).arg("rows", rows)
          .trips("spmv_scalar", 16);
      CASE(spmv_csr_vector, ceil_div(rows, block / 32), block, 0)
          .data<int>("first", rows + 1, first).data<int>("column", entries, near)
          .doubles("value", entries).doubles("x", rows).zeros("y", 8 * rows).arg("rows", rows)
          .trips("spmv_vector", 1).near("spmv_near", (1 + 4096) * 8);
      CASE(spmv_ell, ceil_div(rows, block), block, 0)
          .data<int>("column", entries, near).floats("value", entries).floats("x", rows)
          .zeros("y", 4 * rows).arg("rows", rows).arg("width", 16);
      CASE(spmv_coo, ceil_div(16 * rows, block), block, 0)
          .data<int>("row", entries, [](size_t i) { return i / 16; })
          .ints("column", entries, rows).floats("value", entries).floats("x", rows)
          .zeros("y", 4 * rows + 64).arg("entries", 16 * rows);
      CASE(spmv_dia, ceil_div(rows, block), block, 0)
          .floats("bands", 11ull * rows).floats("x", rows).zeros("y", 4 * rows).arg("rows", rows)
          .arg("count", 11).arg("spread", 64);
      CASE(pagerank_pull, ceil_div(rows, block), block, 0)
          .data<int>("first", rows + 1, first).ints("neighbor", entries, rows)
          .floats("rank", rows).data<int>("degree", rows, [](size_t i) { return 8 + hash(i) % 17; })
          .zeros("next", 4 * rows).arg("nodes", rows).arg("damping", 0.85f).trips("pagerank", 16);
      CASE(bfs_step, ceil_div(rows, block), block, 0)
          .data<int>("first", rows + 1, first).ints("neighbor", entries, rows)
          .ints("frontier", rows, 8).zeros("distance", 4 * rows).zeros("next", 4 * rows)
          .arg("nodes", rows).arg("level", 3).trips("bfs_in_frontier", 0.125)
          .trips("bfs_neighbors", 16).trips("bfs_new", 0);
      CASE(sssp_relax, ceil_div(8 * rows, block), block, 0)
          .ints("from", 8 * rows, rows).ints("to", 8 * rows, rows).ints("weight", 8 * rows, 100)
          .zeros("distance", 4 * rows).arg("edges", 8 * rows).trips("sssp_better", 0);
      CASE(label_propagate, ceil_div(rows, block / 8), block, 0)
          .data<int>("first", rows + 1, first).data<int>("neighbor", entries, near)
          .ints("label", rows, 1 << 20).zeros("next", 4 * rows).arg("nodes", rows)
          .trips("label_neighbors", 2.4).near("label_near", (3 + 4096) * 4);
      CASE(degree_count, 264, block, 0)
          .ints("to", 8 * rows, rows).zeros("degree", 4 * rows).arg("edges", 8 * rows);
      CASE(gauss_seidel_color, ceil_div(rows / 4, block), block, 0)
          .data<int>("column", entries, near).doubles("value", entries).doubles("x", rows)
          .doubles("b", rows).arg("rows", rows).arg("width", 9).arg("color", 1).arg("colors", 4);
    }
}
