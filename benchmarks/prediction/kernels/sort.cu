// Sorting, counting, merging and compaction.
#include "cases.h"

using bench::ceil_div;

extern "C" __global__ void bitonic_step(int* keys, int n, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int partner = i ^ j;
  if (i >= n || partner <= i) return;
  int a = keys[i], b = keys[partner];
  bool ascending = (i & k) == 0;
  if ((a > b) == ascending) {  // trips: bitonic_swap
    keys[i] = b;
    keys[partner] = a;
  }
}

// Sorts each block's 2 * blockDim.x keys.
extern "C" __global__ void bitonic_shared(const int* in, int* out) {
  extern __shared__ int keys[];
  int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size;
  keys[t] = in[base + t];
  keys[t + blockDim.x] = in[base + t + blockDim.x];
  for (int k = 2; k <= size; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      int low = 2 * t - (t & (j - 1));
      int a = keys[low], b = keys[low + j];
      bool ascending = (low & k) == 0;
      keys[low] = ascending ? min(a, b) : max(a, b);
      keys[low + j] = ascending ? max(a, b) : min(a, b);
    }
  }
  __syncthreads();
  out[base + t] = keys[t];
  out[base + t + blockDim.x] = keys[t + blockDim.x];
}

extern "C" __global__ void odd_even_shared(const float* in, float* out, int rounds) {
  extern __shared__ float values[];
  int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size;
  values[2 * t] = in[base + 2 * t];
  values[2 * t + 1] = in[base + 2 * t + 1];
  for (int r = 0; r < rounds; r++) {
    __syncthreads();
    int i = 2 * t + (r & 1);
    if (i + 1 < size) {
      float a = values[i], b = values[i + 1];
      values[i] = fminf(a, b);
      values[i + 1] = fmaxf(a, b);
    }
  }
  __syncthreads();
  out[base + 2 * t] = values[2 * t];
  out[base + 2 * t + 1] = values[2 * t + 1];
}

// Digits counted in shared memory: 16 bins for each block.
extern "C" __global__ void radix_count(const unsigned* __restrict__ keys, unsigned* counts, int n,
                                       int shift) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[(keys[i] >> shift) & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

// Where each key of `a` stands in `b`: 20 halvings of a table of 2^20.
extern "C" __global__ void binary_search(const int* __restrict__ keys, const int* __restrict__ table,
                                         int* __restrict__ where, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int key = keys[i], low = 0;
  for (int half = size / 2; half > 0; half /= 2)
    if (table[low + half] <= key) low += half;
  where[i] = low;
}

extern "C" __global__ void merge_rank(const int* __restrict__ in, int* __restrict__ out, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int pair = i / (2 * width) * 2 * width, offset = i - pair;
  bool left = offset < width;
  int key = in[i];
  int low = left ? pair + width : pair, begin = low, high = low + width;
  while (low < high) {  // trips: merge_rank
    int middle = (low + high) / 2;
    bool before = left ? in[middle] < key : in[middle] <= key;
    low = before ? middle + 1 : low;
    high = before ? high : middle;
  }
  out[pair + (left ? offset : offset - width) + (low - begin)] = key;
}

extern "C" __global__ void compact(const float* __restrict__ in, float* __restrict__ out,
                                   unsigned* count, int n, float threshold) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < n ? in[i] : -1.0f;
  bool keep = value > threshold;
  unsigned ballot = __ballot_sync(~0u, keep);
  int lane = threadIdx.x % 32;
  unsigned first = 0;
  if (lane == 0 && ballot) first = atomicAdd(count, __popc(ballot));  // trips: compact_any
  first = __shfl_sync(~0u, first, 0);
  if (keep) out[(first + __popc(ballot & ((1u << lane) - 1))) % n] = value;  // trips: compact_keep
}

KERNELS(sort) {
  for (int block : {128, 256, 512, 1024})
    for (int n : {1 << 20, 1 << 22, 1 << 24}) {
      CASE(bitonic_step, n / block, block, 0)
          .ints("keys", n, 1u << 31).arg("n", n).arg("j", 1 << 12).arg("k", 1 << 13)
          .trips("bitonic_swap", 0);  // each launch after the first finds its pairs in order
      CASE(bitonic_shared, n / (2 * block), block, 8 * block)
          .ints("in", n, 1u << 31).zeros("out", 4 * n);
      CASE(merge_rank, n / block, block, 0)
          .data<int>("in", n, [](size_t i) { return i % 4096 * 64 + bench::hash(i) % 64; })
          .zeros("out", 4 * n).arg("width", 4096).trips("merge_rank", 12.0);
      CASE(binary_search, n / block, block, 0)
          .ints("keys", n, 1u << 22).data<int>("table", 1 << 20, [](size_t i) { return i * 4; })
          .zeros("where", 4 * n).arg("n", n).arg("size", 1 << 20);
      CASE(compact, n / block, block, 0)
          .floats("in", n).zeros("out", 4 * n).zeros("count", 4).arg("n", n)
          .arg("threshold", 0.75f).trips("compact_any", 1.0).trips("compact_keep", 0.25);
    }
  for (int block : {64, 128, 256})
    for (int rounds : {64, 256})
      for (int n : {1 << 19, 1 << 21})
        CASE(odd_even_shared, n / (2 * block), block, 8 * block)
            .floats("in", n).zeros("out", 4 * n).arg("rounds", rounds);
  for (int block : {128, 256, 512})
    for (int grid : {132, 528, 2112})
      CASE(radix_count, grid, block, 0)
          .ints("keys", 1 << 23, 1u << 31).zeros("counts", 64 * grid).arg("n", 1 << 23)
          .arg("shift", 8);
}
