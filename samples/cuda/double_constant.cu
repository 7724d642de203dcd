// Follows many damped oscillators through time, all in float but for one constant.

#include "sample.h"

constexpr int kOscillators = 256 * 128;
constexpr int kSteps = 20000;

__global__ void damp_oscillators(const float* __restrict__ start, float* __restrict__ end,
                                 int steps, float damping, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = start[i];
  float v = 0;
  for (int s = 0; s < steps; ++s) {
    const float force = -x - 2.0 * damping * v;  // PLANTED: strength-reduction
    v += dt * force;
    x += dt * v;
  }
  end[i] = x;
}

int main(int argc, char** argv) {
  sample::DeviceArray<float> start(sample::random_floats(kOscillators, 1));
  sample::DeviceArray<float> end(kOscillators);
  const int launches = sample::launches(argc, argv, 120);
  const float ms = sample::median_ms(launches, [&] {
    damp_oscillators<<<kOscillators / 128, 128>>>(start.get(), end.get(), kSteps, 0.05f, 1e-3f);
  });
  sample::report(sample::mean(end.to_host()), ms, launches);
}
