// Diffusion of a field in a solver that grew from a program for CPUs: the field lives on the host,
// so that every step copies it to the GPU and back, from ordinary memory.

#include "pair.h"

constexpr int kSize = 1024;
constexpr int kSteps = 20;

__global__ void diffuse(const float* __restrict__ from, float* __restrict__ to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int at = y * kSize + x;
  if (x == 0 || y == 0 || x == kSize - 1 || y == kSize - 1) {
    to[at] = from[at];
    return;
  }
  to[at] =
      0.6f * from[at] + 0.1f * (from[at - 1] + from[at + 1] + from[at - kSize] + from[at + kSize]);
}

class Solver {
 public:
  explicit Solver(std::vector<float> field)
      : field_(std::move(field)), from_(field_.size()), to_(field_.size()) {}

  void run(int steps) {
    const size_t bytes = field_.size() * sizeof(float);
    const dim3 threads(32, 8);
    const dim3 blocks(kSize / threads.x, kSize / threads.y);
    for (int step = 0; step < steps; ++step) {
      CHECK(cudaMemcpy(from_.get(), field_.data(), bytes, cudaMemcpyHostToDevice));  // advise: here
      diffuse<<<blocks, threads>>>(from_.get(), to_.get());
      CHECK(cudaMemcpy(field_.data(), to_.get(), bytes, cudaMemcpyDeviceToHost));  // advise: here
    }
  }

  const std::vector<float>& field() const { return field_; }
  void set_field(const std::vector<float>& field) { field_ = field; }

 private:
  std::vector<float> field_;
  sample::DeviceArray<float> from_, to_;
};

int main(int argc, char** argv) {
  const std::vector<float> start = sample::random_floats(size_t(kSize) * kSize, 1);
  Solver solver(start);
  pair::measure(
      argc, argv, [&] { solver.set_field(start); }, [&] { solver.run(kSteps); });
  pair::print_checksum(sample::checksum(solver.field()));
}
