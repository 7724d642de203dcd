// Diffusion of a field in a solver that grew from a program for CPUs: the field lives on the host,
// but stays on the GPU for all steps of a run.

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
    CHECK(cudaMemcpy(from_.get(), field_.data(), bytes, cudaMemcpyHostToDevice));
    float* from = from_.get();
    float* to = to_.get();
    for (int step = 0; step < steps; ++step) {
      diffuse<<<blocks, threads>>>(from, to);
      std::swap(from, to);
    }
    CHECK(cudaMemcpy(field_.data(), from, bytes, cudaMemcpyDeviceToHost));
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
