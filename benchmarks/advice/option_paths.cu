// Prices an average-price call option by Monte Carlo: each thread follows paths of the price, two
// normal numbers at a time by the Box-Muller method, and averages what they pay.

#include "pair.h"

constexpr int kThreads = 128;
constexpr int kPathsEach = 4;
constexpr int kSteps = 64;

struct Option {
  float price, strike, rate, volatility, years;
};

/// In (0, 1].
__device__ float uniform(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return float((state >> 9) + 1) * 0x1p-23f;
}

struct Normals {
  float first, second;
};

__device__ Normals normals(uint32_t& state) {
  const float radius = sqrtf(-2.0f * logf(uniform(state)));  // advise: here
  const float angle = 6.2831853f * uniform(state);
  return {radius * cosf(angle), radius * sinf(angle)};  // advise: here
}

__device__ float grow(float price, float drift, float spread, float normal) {
  return price * expf(drift + spread * normal);  // advise: here
}

__device__ float average_price(const Option& option, uint32_t& state) {
  const float step = option.years / kSteps;
  const float drift = (option.rate - 0.5f * option.volatility * option.volatility) * step;
  const float spread = option.volatility * sqrtf(step);
  float price = option.price;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < kSteps; i += 2) {
    const Normals normal = normals(state);
    price = grow(price, drift, spread, normal.first);
    sum += price;
    price = grow(price, drift, spread, normal.second);
    sum += price;
  }
  return sum / kSteps;
}

__global__ void price_option(const __grid_constant__ Option option, float* __restrict__ payoffs) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t state = sample::mix(thread);
  float payoff = 0;
#pragma unroll 1
  for (int path = 0; path < kPathsEach; ++path)
    payoff += fmaxf(average_price(option, state) - option.strike, 0.0f);
  payoffs[thread] = payoff / kPathsEach;
}

int main(int argc, char** argv) {
  const Option option = {100, 98, 0.03f, 0.25f, 1};
  const int blocks = 64 * sample::multiprocessors();
  sample::DeviceArray<float> payoffs(size_t(blocks) * kThreads);
  pair::measure(argc, argv, [&] { price_option<<<blocks, kThreads>>>(option, payoffs.get()); });
  pair::print_checksum(sample::mean(payoffs.to_host()));
}
