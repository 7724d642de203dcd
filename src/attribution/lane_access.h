#pragma once
// How the addresses of a warp's memory accesses differ from lane to lane.

#include <optional>
#include <vector>

#include "attribution/attribution.h"

namespace fathom {

enum class LanePattern : uint8_t {
  uniform,         ///< all lanes access one address
  strided,         ///< each lane `stride` bytes behind the one before
  irregular,       ///< known, but at no constant distance (rows of a tile, swizzles)
  by_parameter,    ///< at distances that are multiples of a number of the launch (a matrix's width)
  data_dependent,  ///< addresses come from memory: a gather or scatter
  unknown
};

/// One access to global, generic, shared or constant memory; instructions that copy have two.
struct LaneAccess {
  uint32_t instruction = 0;
  MemorySpace space = MemorySpace::global;
  uint32_t bytes = 4;  ///< of one lane
  LanePattern pattern = LanePattern::unknown;
  int64_t stride = 0;  ///< bytes from lane to lane, where strided
  /// Global memory: 32-byte sectors that a warp's request touches, and those that as many bytes
  /// need where they are adjacent. Multiples of a number of the launch count as far apart. Nothing
  /// where the pattern is data_dependent or unknown.
  std::optional<double> sectors;
  double lines = 0;  ///< cache lines of 128 bytes that the sectors lie in, where they are known
  double ideal_sectors = 0;
  /// Shared memory: passes over its 32 banks of 4 bytes, and those that as many bytes need at
  /// least. 64-bit accesses go by half warps, 128-bit ones by quarters. Nothing where the pattern
  /// does not tell, and for atomics. Constant memory: different addresses, which are served one by
  /// one.
  std::optional<double> passes;
  double ideal_passes = 0;

  bool is_known() const {
    return pattern != LanePattern::data_dependent && pattern != LanePattern::unknown;
  }
};

/// Every access of the function to global, generic and shared memory, by instruction, for blocks of
/// this shape (x, y, z threads). The addresses are followed backward to the thread's index through
/// the texts of the instructions, for the first warp of a block as an example; indexes are taken to
/// be positive and pointers to be aligned. Source for the sectors and passes: NVIDIA, CUDA C++
/// Programming Guide, "Compute Capability 5.x" (shared memory) and "Device Memory Accesses".
std::vector<LaneAccess> lane_accesses(const AnalyzedFunction& function,
                                      const std::array<uint32_t, 3>& block);

/// The same for loads from constant memory at an index in a register.
std::vector<LaneAccess> indexed_constants(const AnalyzedFunction& function,
                                          const std::array<uint32_t, 3>& block);

}  // namespace fathom
