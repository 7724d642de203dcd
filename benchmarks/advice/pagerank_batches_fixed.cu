// One step of a damped ranking over a graph whose vertices differ a lot in degree. A block takes
// batches of eight vertices, a warp each, and sends off the eight results together with the batch's
// residual, so that its warps meet after every batch. Vertices come in the order of their degrees,
// so that the eight of a batch have as much to do as each other.

#include <algorithm>
#include <numeric>

#include "pair.h"

constexpr int kVertices = 1 << 18;
constexpr int kWarps = 8;
constexpr float kDamping = 0.85f;

struct Graph {
  std::vector<int> begins;  // of each vertex's list of sources
  std::vector<int> order;   // in which vertices are taken
};

/// Most lists are short, one in sixteen is long.
int degree_of(int vertex) {
  const uint32_t random = sample::mix(vertex);
  return random % 16 == 0 ? 256 + (random >> 8) % 512 : 32 + (random >> 8) % 64;
}

Graph make_graph() {
  Graph graph;
  graph.begins.resize(kVertices + 1);
  for (int v = 0; v < kVertices; ++v) graph.begins[v + 1] = graph.begins[v] + degree_of(v);
  graph.order.resize(kVertices);
  std::iota(graph.order.begin(), graph.order.end(), 0);
  std::stable_sort(graph.order.begin(), graph.order.end(),
                   [](int a, int b) { return degree_of(a) > degree_of(b); });
  return graph;
}

/// The warp's sum, in all lanes.
__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void rank_vertices(const int* __restrict__ begins, const int* __restrict__ order,
                              const uint32_t* __restrict__ sources,
                              const float* __restrict__ old_ranks, int vertices,
                              float* __restrict__ ranks, float* __restrict__ residuals) {
  __shared__ float batch_ranks[kWarps];
  __shared__ int batch_vertices[kWarps];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  float residual = 0;
#pragma unroll 1
  for (int first = blockIdx.x * kWarps; first < vertices; first += gridDim.x * kWarps) {
    const int vertex = order[first + warp];
    const int end = begins[vertex + 1];
    float sum = 0;
#pragma unroll 1
    for (int i = begins[vertex] + lane; i < end; i += 32) sum += old_ranks[sources[i] % kVertices];
    sum = warp_sum(sum);
    if (lane == 0) {
      batch_vertices[warp] = vertex;
      batch_ranks[warp] = 1 - kDamping + kDamping * sum;
    }
    __syncthreads();
    if (threadIdx.x < kWarps) {
      const int written = batch_vertices[threadIdx.x];
      ranks[written] = batch_ranks[threadIdx.x];
      residual += fabsf(batch_ranks[threadIdx.x] - old_ranks[written]);
    }
    __syncthreads();
  }
  if (threadIdx.x < kWarps) residuals[blockIdx.x * kWarps + threadIdx.x] = residual;
}

int main(int argc, char** argv) {
  const Graph graph = make_graph();
  const int edges = graph.begins.back();
  const int blocks = 4 * sample::multiprocessors();
  sample::DeviceArray<int> begins(graph.begins), order(graph.order);
  sample::DeviceArray<uint32_t> sources(edges);
  sample::DeviceArray<float> old_ranks(kVertices), ranks(kVertices);
  sample::DeviceArray<float> residuals(size_t(blocks) * kWarps);
  pair::fill(sources, edges, 1);
  pair::fill(old_ranks, kVertices, 2);
  pair::measure(argc, argv, [&] {
    rank_vertices<<<blocks, 32 * kWarps>>>(begins.get(), order.get(), sources.get(),
                                           old_ranks.get(), kVertices, ranks.get(),
                                           residuals.get());
  });
  pair::print_checksum(sample::checksum(ranks.to_host()));
}
