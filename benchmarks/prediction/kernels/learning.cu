// Machine learning: rows, layers, assignments, optimizers.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

__device__ float block_sum(float value, float* warps) {
  for (int d = 16; d > 0; d >>= 1) value += __shfl_xor_sync(~0u, value, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < blockDim.x / 32; w++) sum += warps[w];
  __syncthreads();
  return sum;
}

extern "C" __global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out,
                                        int cols) {
  __shared__ float warps[32];
  const float* row = in + (size_t)blockIdx.x * cols;
  float top = -1e30f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, row[c]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = top;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; w++) top = fmaxf(top, warps[w]);
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(row[c] - top);
  float scale = 1.0f / block_sum(sum, warps);
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[(size_t)blockIdx.x * cols + c] = __expf(row[c] - top) * scale;
}

extern "C" __global__ void layernorm_rows(const float* __restrict__ in,
                                          const float* __restrict__ gamma,
                                          const float* __restrict__ beta, float* __restrict__ out,
                                          int cols, float epsilon) {
  __shared__ float warps[32];
  const float* row = in + (size_t)blockIdx.x * cols;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float v = row[c];
    sum += v;
    squares += v * v;
  }
  float mean = block_sum(sum, warps) / cols;
  float inverse = rsqrtf(block_sum(squares, warps) / cols - mean * mean + epsilon);
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[(size_t)blockIdx.x * cols + c] = (row[c] - mean) * inverse * gamma[c] + beta[c];
}

extern "C" __global__ void softmax_thread(const float* __restrict__ in, float* __restrict__ out,
                                          int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* mine = in + (size_t)row * cols;
  float top = -1e30f, sum = 0.0f;
  for (int c = 0; c < cols; c++) top = fmaxf(top, mine[c]);
  for (int c = 0; c < cols; c++) sum += expf(mine[c] - top);
  for (int c = 0; c < cols; c++) out[(size_t)row * cols + c] = expf(mine[c] - top) / sum;
}

extern "C" __global__ void bias_gelu(float* data, const float* __restrict__ bias, int n, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = data[i] + bias[i % cols];
  data[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void conv2d_direct(const float* __restrict__ in,
                                         const float* __restrict__ weight, float* __restrict__ out,
                                         int channels, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int filter = blockIdx.z;
  if (x >= width - 2 || y >= height - 2) return;
  float sum = 0.0f;
  for (int c = 0; c < channels; c++)
    for (int ky = 0; ky < 3; ky++)
      for (int kx = 0; kx < 3; kx++)
        sum += in[(c * height + y + ky) * width + x + kx] *
               weight[((filter * channels + c) * 3 + ky) * 3 + kx];
  out[(filter * height + y) * width + x] = fmaxf(sum, 0.0f);
}

extern "C" __global__ void maxpool2x2(const float* __restrict__ in, float* __restrict__ out,
                                      int out_height, int out_width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= out_width || y >= out_height) return;
  const float2* top = (const float2*)(in + (size_t)(blockIdx.z * 2 * out_height + 2 * y) * 2 * out_width);
  const float2* bottom = top + out_width;
  float2 a = top[x], b = bottom[x];
  out[((size_t)blockIdx.z * out_height + y) * out_width + x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}

extern "C" __global__ void kmeans_assign(const float* __restrict__ points,
                                         const float* __restrict__ centers, int* __restrict__ label,
                                         int n, int k, int dimensions) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 1e30f;
  int argument = 0;
  for (int c = 0; c < k; c++) {
    float distance = 0.0f;
    for (int d = 0; d < dimensions; d++) {
      float difference = points[(size_t)d * n + i] - centers[c * dimensions + d];
      distance += difference * difference;
    }
    if (distance < best) {
      best = distance;
      argument = c;
    }
  }
  label[i] = argument;
}

extern "C" __global__ void knn_distances(const float* __restrict__ query,
                                         const float* __restrict__ points,
                                         float* __restrict__ distance, int n) {
  __shared__ float q[64];
  if (threadIdx.x < 64) q[threadIdx.x] = query[blockIdx.y * 64 + threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll 16
  for (int d = 0; d < 64; d++) {
    float difference = points[(size_t)d * n + i] - q[d];
    sum += difference * difference;
  }
  distance[(size_t)blockIdx.y * n + i] = sqrtf(sum);
}

extern "C" __global__ void adam_update(float* weight, float* m, float* v,
                                       const float* __restrict__ gradient, int n, float rate,
                                       float beta1, float beta2, float epsilon) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = gradient[i];
  float mean = beta1 * m[i] + (1.0f - beta1) * g;
  float variance = beta2 * v[i] + (1.0f - beta2) * g * g;
  m[i] = mean;
  v[i] = variance;
  weight[i] -= rate * mean / (sqrtf(variance) + epsilon);
}

extern "C" __global__ void embedding_rows(const int* __restrict__ token,
                                          const float4* __restrict__ table, float4* __restrict__ out,
                                          int width4) {
  const float4* row = table + (size_t)token[blockIdx.x] * width4;
  for (int c = threadIdx.x; c < width4; c += blockDim.x)
    out[(size_t)blockIdx.x * width4 + c] = row[c];
}

extern "C" __global__ void attention_scores(const float* __restrict__ q, const float* __restrict__ k,
                                            float* __restrict__ scores, int length, float scale) {
  __shared__ float keys[32][65];
  int t = threadIdx.x, row = blockIdx.y * blockDim.x + t;
  for (int i = t; i < 32 * 64; i += blockDim.x)
    keys[i / 64][i % 64] = k[(size_t)(blockIdx.x * 32 + i / 64) * 64 + i % 64];
  float mine[64];
#pragma unroll
  for (int d = 0; d < 64; d++) mine[d] = q[(size_t)d * length + row];
  __syncthreads();
  for (int j = 0; j < 32; j++) {
    float sum = 0.0f;
#pragma unroll
    for (int d = 0; d < 64; d++) sum += mine[d] * keys[j][d];
    scores[(size_t)(blockIdx.x * 32 + j) * length + row] = sum * scale;
  }
}

extern "C" __global__ void backprop_layer(const float* __restrict__ input, float* weights,
                                          float* partial, int outputs) {
  __shared__ float node[16];
  __shared__ float products[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty;
  if (tx == 0) node[ty] = input[row];
  __syncthreads();
  products[ty][tx] = weights[(size_t)row * outputs + tx] * node[ty];
  __syncthreads();
  for (int i = 2; i <= 16; i *= 2) {
    if (ty % i == 0) products[ty][tx] += products[ty + i / 2][tx];
    __syncthreads();
  }
  weights[(size_t)row * outputs + tx] = 0.999f * products[ty][tx] + 1e-3f;
  if (ty == 0) partial[blockIdx.y * outputs + tx] = 1.0f / (1.0f + expf(-products[0][tx]));
}

KERNELS(learning) {
  for (int block : {64, 128, 256, 1024})
    for (int cols : {1024, 4096, 16384}) {
      int rows = 4096;
      size_t cells = (size_t)rows * cols;
      CASE(softmax_rows, rows, block, 0)
          .floats("in", cells).zeros("out", 4 * cells).arg("cols", cols);
      CASE(layernorm_rows, rows, block, 0)
          .floats("in", cells).floats("gamma", cols).floats("beta", cols).zeros("out", 4 * cells)
          .arg("cols", cols).arg("epsilon", 1e-5f);
      CASE(bias_gelu, ceil_div(cells, block), block, 0)
          .floats("data", cells).floats("bias", cols).arg("n", (int)cells).arg("cols", cols);
      CASE(adam_update, ceil_div(cells / 2, block), block, 0)
          .floats("weight", cells / 2).floats("m", cells / 2).floats("v", cells / 2)
          .floats("gradient", cells / 2).arg("n", (int)(cells / 2)).arg("rate", 1e-3f)
          .arg("beta1", 0.9f).arg("beta2", 0.999f).arg("epsilon", 1e-8f);
    }
  for (int block : {64, 128, 256})
    for (int n : {32768, 131072, 524288}) {
      CASE(softmax_thread, ceil_div(n / 4, block), block, 0)
          .floats("in", 32ull * n).zeros("out", 128ull * n).arg("rows", n / 4).arg("cols", 128);
      CASE(kmeans_assign, ceil_div(n, block), block, 0)
          .floats("points", 16ull * n).floats("centers", 16 * 32).zeros("label", 4 * n)
          .arg("n", n).arg("k", 32).arg("dimensions", 16);
      CASE(knn_distances, dim3(ceil_div(n, block), 8), block, 0)
          .floats("query", 512).floats("points", 64ull * n).zeros("distance", 32ull * n)
          .arg("n", n);
      CASE(embedding_rows, n / 8, block, 0)
          .ints("token", n / 8, 50000).floats("table", 50000ull * 1024)
          .zeros("out", (size_t)n / 8 * 4096).arg("width4", 256);
    }
  for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(64, 2)})
    for (int width : {56, 112, 224}) {
      int channels = width == 224 ? 16 : 64;
      CASE(conv2d_direct, dim3(ceil_div(width, block.x), ceil_div(width, block.y), 64), block, 0)
          .floats("in", channels * width * width).floats("weight", 64 * channels * 9)
          .zeros("out", 256 * width * width).arg("channels", channels).arg("height", width)
          .arg("width", width);
      CASE(maxpool2x2, dim3(ceil_div(width, block.x), ceil_div(width, block.y), 256), block, 0)
          .floats("in", 1024ull * width * width).zeros("out", 1024ull * width * width)
          .arg("out_height", width).arg("out_width", width);
    }
  for (int block : {64, 128, 256})
    for (int length : {1024, 2048, 4096, 8192})
      CASE(attention_scores, dim3(length / 32, length / block), block, 0)
          .floats("q", 64 * length).floats("k", 64 * length)
          .zeros("scores", 4ull * length * length).arg("length", length).arg("scale", 0.125f);
  for (int rows : {1 << 16, 1 << 18, 1 << 20, 1 << 22})
    CASE(backprop_layer, dim3(1, min(rows / 16, 65535)), dim3(16, 16), 0)
        .floats("input", rows).floats("weights", 16ull * rows).zeros("partial", 4ull * rows)
        .arg("outputs", 16);
}
