#pragma once
// What is known of a launch before it runs.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "prediction/contents.h"

namespace fathom {

/// Buffers are this far apart, so that an address tells its buffer: address >> kBufferShift.
inline constexpr unsigned kBufferShift = 40;

/// "n=4096", "2=4096": an argument by name or position; "a=@64M": a pointer to so many bytes,
/// "a=@64M:f32" of such elements.
struct ArgumentValue {
  std::string key, text;
};
/// How often the loop on a line goes round, or, below 1, which share of the threads enters a
/// branch.
struct TripCount {
  uint32_t line = 0;
  double count = 0;
};

/// Bytes within which the addresses of a warp lie that data say to the access on a line.
struct NearbyData {
  uint32_t line = 0;
  uint64_t bytes = 0;
};

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_shared = 0;  ///< bytes
  std::vector<TripCount> trips;
  std::vector<NearbyData> nearby;
  /// Bytes of the buffers whose size is known, by ParameterBlock's addresses >> kBufferShift.
  std::map<uint64_t, uint64_t> buffers;
  std::map<uint64_t, BufferContents> contents;  ///< of those of which it is known, as above

  uint64_t blocks() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
  uint32_t warps_per_block() const { return (threads_per_block() + 31) / 32; }
};

/// A parameter of a kernel, in bytes of its parameter block.
struct Parameter {
  std::string name;
  uint32_t offset = 0, size = 0;
  bool is_float = false;
  std::optional<uint64_t> value;           ///< what the caller said
  uint64_t buffer_bytes = 0;               ///< of what a pointer points to; 0: nobody said
  std::optional<BufferContents> contents;  ///< of that, where the caller said
};

/// What a kernel reads of its parameters: the caller's values, made-up addresses for pointers, and
/// the number of threads for whole numbers that nobody gave.
class ParameterBlock {
 public:
  ParameterBlock(std::vector<Parameter> parameters, uint64_t threads);

  /// `bytes` at `offset`. A pointer for 8 bytes, unless a value was given.
  uint64_t read(uint32_t offset, uint32_t bytes);
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Launch::buffers of the sizes that the caller said.
  std::map<uint64_t, uint64_t> buffers() const;
  std::map<uint64_t, BufferContents> contents() const;
  /// Positions of whole numbers that were read but not given.
  const std::vector<size_t>& guessed() const { return guessed_; }
  /// Positions of what was read as a pointer, of those that nobody said anything about.
  const std::vector<size_t>& pointers() const { return pointers_; }
  /// Of the addresses made up for a pointer: address >> kBufferShift.
  static uint64_t buffer_of(size_t position);

 private:
  std::vector<Parameter> parameters_;
  uint64_t threads_;
  std::vector<size_t> guessed_, pointers_;
};

}  // namespace fathom
