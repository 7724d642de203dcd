// Dynamic programming.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

// One anti-diagonal of a table of n + 1 rows, gaps cost `penalty`.
extern "C" __global__ void needleman_diagonal(int* table, const int* __restrict__ similarity, int n,
                                              int diagonal, int penalty) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  int row = k + 1, col = diagonal - k;
  if (row > n || col < 1 || col > n) return;
  int width = n + 1, i = row * width + col;
  int match = table[i - width - 1] + similarity[(row - 1) * n + col - 1];
  table[i] = max(match, max(table[i - 1], table[i - width]) - penalty);
}

// Many pairs at once: a block aligns one pair of sequences, diagonal after diagonal.
extern "C" __global__ void smith_waterman(const char* __restrict__ a, const char* __restrict__ b,
                                          int* __restrict__ best, int length) {
  extern __shared__ int rows[];
  int* before = rows;
  int* last = rows + blockDim.x + 1;
  int* now = last + blockDim.x + 1;
  int t = threadIdx.x, top = 0;
  char mine = a[blockIdx.x * blockDim.x + t];
  before[t + 1] = last[t + 1] = now[t + 1] = 0;
  if (t == 0) before[0] = last[0] = now[0] = 0;
  __syncthreads();
  for (int d = 0; d < length + (int)blockDim.x - 1; d++) {
    int col = d - t, score = 0;
    if (col >= 0 && col < length) {
      score = before[t] + (mine == b[blockIdx.x * length + col] ? 2 : -1);
      score = max(max(score, 0), max(last[t], last[t + 1]) - 1);
    }
    now[t + 1] = score;
    top = max(top, score);
    __syncthreads();
    int* oldest = before;
    before = last;
    last = now;
    now = oldest;
  }
  atomicMax(&best[blockIdx.x], top);
}

extern "C" __global__ void floyd_warshall(float* distance, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float through = distance[i * n + k] + distance[k * n + j];
  if (through < distance[i * n + j]) distance[i * n + j] = through;  // trips: floyd_shorter
}

extern "C" __global__ void knapsack_row(const int* __restrict__ last, int* __restrict__ next,
                                        int capacity, int weight, int value) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > capacity) return;
  int best = last[c];
  if (c >= weight) best = max(best, last[c - weight] + value);
  next[c] = best;
}

// Each thread compares its own word with one that all share.
extern "C" __global__ void lcs_words(const unsigned char* __restrict__ words,
                                     const unsigned char* __restrict__ pattern,
                                     int* __restrict__ result, int n, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int row[17];
#pragma unroll
  for (int j = 0; j <= 16; j++) row[j] = 0;
  for (int k = 0; k < length; k++) {
    unsigned char c = words[k * n + i];
    int diagonal = 0;
#pragma unroll
    for (int j = 1; j <= 16; j++) {
      int keep = row[j];
      row[j] = c == pattern[j - 1] ? diagonal + 1 : max(row[j], row[j - 1]);
      diagonal = keep;
    }
  }
  result[i] = row[16];
}

extern "C" __global__ void viterbi_step(const float* __restrict__ score,
                                        const float* __restrict__ transition,
                                        float* __restrict__ next, int* __restrict__ from,
                                        int states) {
  int to = blockIdx.x * blockDim.x + threadIdx.x;
  if (to >= states) return;
  float best = -1e30f;
  int argument = 0;
  for (int s = 0; s < states; s++) {
    float candidate = score[s] + transition[s * states + to];
    if (candidate > best) {
      best = candidate;
      argument = s;
    }
  }
  next[to] = best;
  from[to] = argument;
}

extern "C" __global__ void pathfinder_rows(const int* __restrict__ wall, const int* __restrict__ in,
                                           int* __restrict__ out, int cols, int rows, int border) {
  extern __shared__ int costs[];
  int t = threadIdx.x, width = blockDim.x;
  int x = blockIdx.x * (width - 2 * border) - border + t;
  int column = min(max(x, 0), cols - 1);
  costs[t] = in[column];
  __syncthreads();
  for (int r = 0; r < rows; r++) {
    int best = min(costs[max(t - 1, 0)], min(costs[t], costs[min(t + 1, width - 1)]));
    int cost = best + wall[r * cols + column];
    __syncthreads();
    costs[t] = cost;
    __syncthreads();
  }
  if (t >= border && t < width - border && x >= 0 && x < cols) out[x] = costs[t];
}

KERNELS(dynamic) {
  for (int block : {64, 128, 256, 512})
    for (int n : {8192, 16384, 24576}) {
      CASE(needleman_diagonal, ceil_div(n, block), block, 0)
          .zeros("table", 4ull * (n + 1) * (n + 1)).ints("similarity", (size_t)n * n, 10)
          .arg("n", n).arg("diagonal", n).arg("penalty", 3);
      CASE(knapsack_row, ceil_div(n * 256, block), block, 0)
          .ints("last", n * 256, 1000).zeros("next", 1024ull * n).arg("capacity", n * 256 - 1)
          .arg("weight", 1237).arg("value", 55);
      CASE(lcs_words, ceil_div(n * 16, block), block, 0)
          .data<unsigned char>("words", (size_t)n * 16 * 32, [](size_t i) { return hash(i) % 4; })
          .data<unsigned char>("pattern", 16, [](size_t i) { return hash(i + 99) % 4; })
          .zeros("result", 64 * n).arg("n", n * 16).arg("length", 32);
    }
  for (int block : {64, 128, 256, 512})
    for (int pairs : {512, 2048})
      CASE(smith_waterman, pairs, block, 12 * (block + 1))
          .data<char>("a", pairs * block, [](size_t i) { return hash(i) % 4; })
          .data<char>("b", pairs * 256, [](size_t i) { return hash(i + 7) % 4; })
          .zeros("best", 4 * pairs).arg("length", 256);
  for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(256, 1), dim3(32, 32)})
    for (int n : {1024, 2048, 4096})
      CASE(floyd_warshall, dim3(ceil_div(n, block.x), ceil_div(n, block.y)), block, 0)
          .floats("distance", (size_t)n * n).arg("n", n).arg("k", 17).trips("floyd_shorter", 0);
  for (int block : {32, 64, 128, 256})
    for (int states : {2048, 4096, 8192})
      CASE(viterbi_step, ceil_div(states, block), block, 0)
          .floats("score", states).floats("transition", (size_t)states * states)
          .zeros("next", 4 * states).zeros("from", 4 * states).arg("states", states);
  for (int block : {128, 256, 512})
    for (int cols : {100000, 1000000})
      for (int rows : {8, 20})
        CASE(pathfinder_rows, ceil_div(cols, block - 2 * rows), block, 4 * block)
            .ints("wall", (size_t)cols * rows, 10).ints("in", cols, 10).zeros("out", 4 * cols)
            .arg("cols", cols).arg("rows", rows).arg("border", rows);
}
