// Four host threads with two streams each: copies to the device, a kernel and copies back overlap.
// usage: streams_threads [ROUNDS]

#include <thread>

#include "sample.h"

constexpr int kThreads = 4;
constexpr int kStreams = 2;
constexpr int kSize = 1 << 20;

__global__ void advance_walkers(uint32_t* walkers, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t walker = walkers[i];
  for (int step = 0; step < steps; ++step) walker = sample::mix(walker + step);
  walkers[i] = walker;
}

static void walk(uint32_t seed, int rounds, uint64_t* sum) {
  const size_t bytes = kSize * sizeof(uint32_t);
  cudaStream_t streams[kStreams];
  uint32_t* host[kStreams];
  uint32_t* device[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host[s], bytes));
    CHECK(cudaMalloc(&device[s], bytes));
    for (int i = 0; i < kSize; ++i) host[s][i] = sample::mix(seed + s * kSize + i);
  }
  for (int round = 0; round < rounds; ++round)
    for (int s = 0; s < kStreams; ++s) {
      CHECK(cudaMemcpyAsync(device[s], host[s], bytes, cudaMemcpyHostToDevice, streams[s]));
      advance_walkers<<<kSize / 256, 256, 0, streams[s]>>>(device[s], 64);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(host[s], device[s], bytes, cudaMemcpyDeviceToHost, streams[s]));
    }
  for (int s = 0; s < kStreams; ++s) {
    CHECK(cudaStreamSynchronize(streams[s]));
    for (int i = 0; i < kSize; ++i) *sum += host[s][i];
    CHECK(cudaFree(device[s]));
    CHECK(cudaFreeHost(host[s]));
    CHECK(cudaStreamDestroy(streams[s]));
  }
}

int main(int argc, char** argv) {
  const int rounds = sample::launches(argc, argv, 20);
  std::vector<std::thread> threads;
  uint64_t sums[kThreads] = {};
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back(walk, uint32_t(t) << 24, rounds, &sums[t]);
  uint64_t sum = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads[t].join();
    sum += sums[t];
  }
  std::printf("checksum %llu\nlaunches %d\n", static_cast<unsigned long long>(sum),
              kThreads * kStreams * rounds);
}
