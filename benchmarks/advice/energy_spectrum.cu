// The energy spectrum of a detector's events over channels of uneven width. The channels' lower
// edges are integers, an event's energy is a double: each comparison converts an edge.

#include "pair.h"

constexpr int kChannels = 96;
constexpr int kEvents = 1 << 23;
constexpr int kThreads = 256;
constexpr float kHighest = 20000.0f;

/// How many of the edges an energy has passed.
__device__ int channel_of(const int* edges, int channels, double energy) {
  int channel = 0;
#pragma unroll 8
  for (int i = 0; i < channels; ++i) channel += energy >= edges[i];  // advise: here
  return channel;
}

__global__ void count_events(const float* __restrict__ energies, int events,
                             const int* __restrict__ channel_edges, int channels,
                             unsigned* __restrict__ spectrum) {
  __shared__ int edges[kChannels];
  __shared__ unsigned counts[kChannels + 1];
  for (int i = threadIdx.x; i < channels; i += kThreads) edges[i] = channel_edges[i];
  for (int i = threadIdx.x; i <= channels; i += kThreads) counts[i] = 0;
  __syncthreads();

  const int step = gridDim.x * kThreads;
#pragma unroll 1
  for (int event = blockIdx.x * kThreads + threadIdx.x; event < events; event += step) {
    const double energy = energies[event] * kHighest;
    atomicAdd(&counts[channel_of(edges, channels, energy)], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i <= channels; i += kThreads) atomicAdd(&spectrum[i], counts[i]);
}

/// Narrow channels at low energies, wide ones above.
std::vector<int> make_edges() {
  std::vector<int> edges(kChannels);
  for (int i = 0; i < kChannels; ++i) edges[i] = 10 + 2 * i * i;
  return edges;
}

int main(int argc, char** argv) {
  sample::DeviceArray<float> energies(kEvents);
  pair::fill(energies, kEvents, 1);
  sample::DeviceArray<int> edges(make_edges());
  sample::DeviceArray<unsigned> spectrum(kChannels + 1);
  const int blocks = 8 * sample::multiprocessors();
  pair::measure(
      argc, argv,
      [&] { CHECK(cudaMemsetAsync(spectrum.get(), 0, (kChannels + 1) * sizeof(unsigned))); },
      [&] {
        count_events<<<blocks, kThreads>>>(energies.get(), kEvents, edges.get(), kChannels,
                                           spectrum.get());
      });
  pair::print_checksum(sample::checksum(spectrum.to_host()));
}
