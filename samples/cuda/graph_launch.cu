// A pipeline of three kernels, captured as a CUDA graph and launched several times.
// usage: graph_launch [LAUNCHES]

#include "sample.h"

constexpr int kSize = 1 << 22;

__global__ void scale_values(uint32_t* values, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) values[i] *= 3;
}

__global__ void shift_values(const uint32_t* values, uint32_t* shifted, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) shifted[i] = values[(i + 1) % size] + 1;
}

__global__ void mix_values(const uint32_t* shifted, uint32_t* values, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) values[i] = sample::mix(shifted[i]);
}

int main(int argc, char** argv) {
  const int launches = sample::launches(argc, argv, 50);
  sample::DeviceArray<uint32_t> values(sample::random_words(kSize, 7));
  sample::DeviceArray<uint32_t> shifted(kSize);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  scale_values<<<kSize / 256, 256, 0, stream>>>(values.get(), kSize);
  shift_values<<<kSize / 256, 256, 0, stream>>>(values.get(), shifted.get(), kSize);
  mix_values<<<kSize / 256, 256, 0, stream>>>(shifted.get(), values.get(), kSize);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));

  for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("checksum %llu\nlaunches %d\n",
              static_cast<unsigned long long>(sample::checksum(values.to_host())), launches);

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}
