#pragma once
// How a kernel and its launches are told to the driver: one CASE line for each launch.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

/// One kernel argument: a scalar, or a buffer that the driver allocates and fills.
struct Argument {
  enum class Fill { none, zero, floats, doubles, ints, host };
  std::string name;
  std::string text;   ///< the scalar's value, as it is written into the table
  uint64_t bits = 0;  ///< the scalar's bytes
  size_t bytes = 0;   ///< of the buffer
  Fill fill = Fill::none;
  uint32_t below = 0;  ///< integers are below this
  std::string type;    ///< of the elements: "f32", "u8"..., where it is known
  std::function<std::string(const void*)> bounds;  ///< "0..3": of the host's copy
  std::function<void(void*)> write;                ///< fills the host's copy
};

struct Case {
  std::string kernel, file;
  const void* function = nullptr;
  dim3 grid, block;
  size_t shared = 0;
  std::vector<Argument> arguments;
  std::vector<std::pair<std::string, double>> trip_counts;  ///< by marker in the source
  std::vector<std::pair<std::string, double>> near_bytes;   ///< by marker in the source

  Case& buffer(const char* name, size_t bytes, Argument::Fill fill, uint32_t below = 0) {
    Argument argument;
    argument.name = name;
    argument.bytes = bytes;
    argument.fill = fill;
    argument.below = below;
    using Fill = Argument::Fill;
    argument.type = fill == Fill::floats    ? "f32"
                    : fill == Fill::doubles ? "f64"
                    : fill == Fill::ints    ? "u32:0.." + std::to_string(below - 1)
                                            : "";
    arguments.push_back(argument);
    return *this;
  }
  Case& floats(const char* name, size_t count) {
    return buffer(name, count * sizeof(float), Argument::Fill::floats);
  }
  Case& doubles(const char* name, size_t count) {
    return buffer(name, count * sizeof(double), Argument::Fill::doubles);
  }
  Case& ints(const char* name, size_t count, uint32_t below) {
    return buffer(name, count * sizeof(int), Argument::Fill::ints, below);
  }
  Case& zeros(const char* name, size_t bytes) { return buffer(name, bytes, Argument::Fill::zero); }
  /// A buffer whose element i is `value(i)`, computed on the host.
  template <class T, class F>
  Case& data(const char* name, size_t count, F value) {
    buffer(name, count * sizeof(T), Argument::Fill::host);
    static_assert(std::is_integral_v<T>, "whole numbers only");
    arguments.back().type = (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    arguments.back().bounds = [count](const void* from) {
      const auto* elements = static_cast<const T*>(from);
      const auto [low, high] = std::minmax_element(elements, elements + count);
      return std::to_string(+*low) + ".." + std::to_string(+*high) +
             (std::is_sorted(elements, elements + count) ? ":rising" : "");
    };
    arguments.back().write = [count, value](void* to) {
      T* elements = static_cast<T*>(to);
      for (size_t i = 0; i < count; i++) elements[i] = static_cast<T>(value(i));
    };
    return *this;
  }
  template <class T>
  Case& arg(const char* name, T value) {
    Argument argument;
    argument.name = name;
    argument.text = std::to_string(value);
    static_assert(sizeof(T) <= sizeof(argument.bits), "scalars only");
    std::memcpy(&argument.bits, &value, sizeof(T));
    arguments.push_back(argument);
    return *this;
  }
  /// How often the loop (or, below 1, the branch) on the line with the comment `trips: MARKER` goes
  /// round on average, where it depends on the data.
  Case& trips(const char* marker, double count) {
    trip_counts.emplace_back(marker, count);
    return *this;
  }
  /// The bytes within which a warp's addresses of the access on the line with the comment `near:
  /// MARKER` lie, where the definition of the data keeps them together.
  Case& near(const char* marker, double bytes) {
    near_bytes.emplace_back(marker, bytes);
    return *this;
  }
};

class Cases {
 public:
  Case& add(const char* kernel, const char* file, const void* function, dim3 grid, dim3 block,
            size_t shared) {
    Case one;
    one.kernel = kernel;
    one.file = file;
    one.function = function;
    one.grid = grid;
    one.block = block;
    one.shared = shared;
    all.push_back(one);
    return all.back();
  }
  std::vector<Case> all;
};

using Register = void (*)(Cases&);
std::vector<Register>& registrations();
struct Registration {
  explicit Registration(Register function) { registrations().push_back(function); }
};

inline unsigned ceil_div(size_t a, size_t b) {
  return static_cast<unsigned>((a + b - 1) / b);
}
/// The same pseudo-random number for the same i, everywhere.
inline uint32_t hash(uint64_t i) {
  uint64_t x = i * 0x9E3779B97F4A7C15ull + 0x7F4A7C15ull;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ull;
  return static_cast<uint32_t>(x >> 32);
}

}  // namespace bench

#define KERNELS(name)                                                    \
  static void register_##name(bench::Cases& cases);                      \
  static const bench::Registration registration_##name(register_##name); \
  static void register_##name(bench::Cases& cases)
#define CASE(kernel, grid, block, shared) \
  cases.add(#kernel, __FILE__, reinterpret_cast<const void*>(&kernel), grid, block, shared)
