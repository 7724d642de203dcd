// The vibration of many strings, in small time steps of three short kernels each: forces, motion,
// and the damping at the ends. The steps are captured into a graph once, which is then launched as
// a whole.

#include "pair.h"

constexpr int kStrings = 32;
constexpr int kPoints = 1024;
constexpr int kThreads = 256;
constexpr int kSteps = 400;

struct Strings {
  float* place;
  float* speed;
  float* force;
};

__global__ void pull_strings(Strings strings) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  const int along = point % kPoints;
  const float own = strings.place[point];
  const float left = along > 0 ? strings.place[point - 1] : 0;
  const float right = along < kPoints - 1 ? strings.place[point + 1] : 0;
  strings.force[point] = 0.4f * (left + right - 2 * own);
}

__global__ void move_strings(Strings strings) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  const float speed = strings.speed[point] + 0.5f * strings.force[point];
  strings.speed[point] = speed;
  strings.place[point] += 0.5f * speed;
}

__global__ void damp_ends(Strings strings) {
  const int string = threadIdx.x;
  strings.speed[string * kPoints] *= 0.9f;
  strings.speed[string * kPoints + kPoints - 1] *= 0.9f;
}

void launch_step(Strings strings, cudaStream_t stream) {
  constexpr int kBlocks = kStrings * kPoints / kThreads;
  pull_strings<<<kBlocks, kThreads, 0, stream>>>(strings);
  move_strings<<<kBlocks, kThreads, 0, stream>>>(strings);
  damp_ends<<<1, kStrings, 0, stream>>>(strings);
}

/// All steps as one graph.
cudaGraphExec_t capture_steps(Strings strings) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t steps;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int step = 0; step < kSteps; ++step) launch_step(strings, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&steps, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return steps;
}

int main(int argc, char** argv) {
  constexpr size_t kSize = size_t(kStrings) * kPoints;
  const std::vector<float> start = sample::random_floats(kSize, 1);
  sample::DeviceArray<float> place(kSize), speed(kSize), force(kSize);
  const Strings strings = {place.get(), speed.get(), force.get()};
  const cudaGraphExec_t steps = capture_steps(strings);
  pair::measure(
      argc, argv,
      [&] {
        CHECK(cudaMemcpy(place.get(), start.data(), kSize * sizeof(float), cudaMemcpyDefault));
        CHECK(cudaMemset(speed.get(), 0, kSize * sizeof(float)));
      },
      [&] { CHECK(cudaGraphLaunch(steps, nullptr)); }, 0.1);
  CHECK(cudaGraphExecDestroy(steps));
  pair::print_checksum(sample::checksum(place.to_host()));
}
