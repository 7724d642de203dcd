// Writes what cudaOccupancyMaxActiveBlocksPerMultiprocessor says of this machine's GPU: kernels
// of many register counts, under block sizes and shared memory of all kinds. A table with a line
// for each case, on standard output.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "occupancy: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

// Keeps kValues numbers alive at once, and so needs about as many registers.
template <int kValues, int kShared>
__global__ void hold(float* data, int rounds) {
  __shared__ char staged[kShared > 0 ? kShared : 1];
  float values[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) values[i] = data[i * blockDim.x + threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kValues; ++i)
      values[i] += values[(i + 1) % kValues] * values[(i + 7) % kValues];
  }
  if constexpr (kShared > 0) {
    staged[(threadIdx.x * 7) % kShared] = static_cast<char>(rounds);
    __syncthreads();
    data[threadIdx.x] += staged[(threadIdx.x * 3) % kShared];
  }
#pragma unroll
  for (int i = 0; i < kValues; ++i) data[i * blockDim.x + threadIdx.x] = values[i];
}

using Kernel = void (*)(float*, int);

template <int kValues>
void add(std::vector<Kernel>& kernels) {
  kernels.push_back(hold<kValues, 0>);
  kernels.push_back(hold<kValues, 1000 + 97 * kValues>);
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels;
  add<2>(kernels), add<10>(kernels), add<14>(kernels), add<22>(kernels), add<30>(kernels);
  add<38>(kernels), add<46>(kernels), add<54>(kernels), add<66>(kernels), add<78>(kernels);
  add<90>(kernels), add<102>(kernels), add<118>(kernels), add<140>(kernels), add<160>(kernels);
  add<180>(kernels), add<200>(kernels), add<220>(kernels), add<236>(kernels);
  return kernels;
}

void write_case(Kernel kernel, int threads, size_t dynamic) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "attributes");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic),
        "occupancy");
  std::printf("%d\t%zu\t%zu\t%d\t%d\n", attributes.numRegs, attributes.sharedSizeBytes, dynamic,
              threads, blocks);
}

}  // namespace

int main() {
  int optin = 0;
  check(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "device");
  std::printf("registers\tstatic_shared\tdynamic_shared\tthreads\tblocks\n");
  std::mt19937 random(11);
  for (Kernel kernel : all_kernels()) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "attributes");
    const size_t room = static_cast<size_t>(optin) - attributes.sharedSizeBytes;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(room)),
          "shared memory");
    // Most of them fit; some are too large.
    const int fitting = std::min(1024, 65536 / (attributes.numRegs + 7) / 32 * 32);
    for (int i = 0; i < 40; ++i) {
      const int most_threads = i % 8 ? fitting : 1024;
      const int threads = i % 3 ? 32 * (1 + static_cast<int>(random() % (most_threads / 32)))
                                : 1 + static_cast<int>(random() % most_threads);
      const size_t most = i % 4 == 3 ? room : 16 * 1024;
      write_case(kernel, threads, i % 2 ? random() % (most + 1) : 0);
    }
  }
}
