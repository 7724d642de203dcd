// Production rates of the species of a gas in many cells: the sum over a mechanism of 896
// reversible reactions, each an Arrhenius term. As generators of such code do, the mechanism is
// written out, but in parts: a block brings all its cells through one part before it begins with
// the next, so that the code that runs together stays small.

#include "pair.h"

constexpr int kSpecies = 6;
constexpr int kReactions = 896;
constexpr int kPart = 56;
constexpr int kCellsEach = 32;
constexpr int kThreads = 128;
constexpr int kResident = 3;  // blocks on a multiprocessor

struct Reaction {
  float factor, exponent, activation, reverse;
  int reactants[2];
  int product;
};

/// The mechanism, as a generator would print it.
__host__ __device__ constexpr Reaction reaction(unsigned index) {
  unsigned x = index * 2654435761u + 12345u;
  x = (x ^ (x >> 15)) * 0x2c1b3c6du;
  x ^= x >> 12;
  return {0.5f + float(x % 97) / 97,
          float(x / 97 % 4093) / 2048,
          1.0f + float(x % 65521) / 32768,
          0.1f + float(x / 36569 % 11) / 32,
          {int(x % kSpecies), int(x / 7 % kSpecies)},
          int(x / 43 % kSpecies)};
}

/// What a thread holds of a cell.
struct Cell {
  float log_temperature, inverse_temperature;
  float amount[kSpecies];
  float rate[kSpecies];
};

template <int Index>
__device__ __forceinline__ void add_reaction(Cell& cell) {
  constexpr Reaction r = reaction(Index);
  const float speed =
      exp2f(r.exponent * cell.log_temperature - r.activation * cell.inverse_temperature);
  const float progress =
      speed * (r.factor * cell.amount[r.reactants[0]] * cell.amount[r.reactants[1]] -
               r.reverse * cell.amount[r.product]);
  cell.rate[r.reactants[0]] -= progress;
  cell.rate[r.reactants[1]] -= progress;
  cell.rate[r.product] += progress;
}

template <int First, int Count>
__device__ __forceinline__ void add_reactions(Cell& cell) {
  if constexpr (Count == 1) {
    add_reaction<First>(cell);
  } else {
    add_reactions<First, Count / 2>(cell);
    add_reactions<First + Count / 2, Count - Count / 2>(cell);
  }
}

/// Cells lie side by side: first all temperatures, then all amounts of each species.
__device__ __forceinline__ Cell load_cell(const float* __restrict__ state, const float* rates,
                                          int cell, int cells) {
  Cell result;
  const float temperature = 1 + state[cell];
  result.log_temperature = log2f(temperature);
  result.inverse_temperature = 1 / temperature;
#pragma unroll
  for (int s = 0; s < kSpecies; ++s) {
    result.amount[s] = state[(1 + s) * cells + cell];
    result.rate[s] = rates[s * cells + cell];
  }
  return result;
}

template <int First, int Count>
__device__ __forceinline__ void add_to_cells(const float* __restrict__ state, float* rates,
                                             int cells) {
  int cell = blockIdx.x * kCellsEach * kThreads + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < kCellsEach; ++i, cell += kThreads) {
    Cell values = load_cell(state, rates, cell, cells);
    add_reactions<First, Count>(values);
#pragma unroll
    for (int s = 0; s < kSpecies; ++s) rates[s * cells + cell] = values.rate[s];
  }
}

/// Calls add_to_cells for one part of the reactions after the other.
template <int First>
__device__ __forceinline__ void add_parts(const float* __restrict__ state, float* rates,
                                          int cells) {
  add_to_cells<First, kPart>(state, rates, cells);
  if constexpr (First + kPart < kReactions) add_parts<First + kPart>(state, rates, cells);
}

__global__ void __launch_bounds__(kThreads, kResident)
    production_rates(const float* __restrict__ state, float* rates, int cells) {
  add_parts<0>(state, rates, cells);
}

int main(int argc, char** argv) {
  const int blocks = kResident * sample::multiprocessors();
  const int cells = blocks * kThreads * kCellsEach;
  sample::DeviceArray<float> state(size_t(1 + kSpecies) * cells);
  sample::DeviceArray<float> rates(size_t(kSpecies) * cells);
  pair::fill(state, size_t(1 + kSpecies) * cells, 1);
  pair::measure(
      argc, argv,
      [&] { CHECK(cudaMemsetAsync(rates.get(), 0, size_t(kSpecies) * cells * sizeof(float))); },
      [&] { production_rates<<<blocks, kThreads>>>(state.get(), rates.get(), cells); });
  pair::print_checksum(sample::mean(rates.to_host()));
}
