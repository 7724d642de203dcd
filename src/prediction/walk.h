#pragma once
// Runs a few warps of a launch and writes down what they did: which steps, and which memory they
// touched.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "prediction/launch.h"
#include "prediction/program.h"

namespace fathom {

/// Bytes of a line of the caches of constants, on every architecture that was measured.
inline constexpr uint64_t kConstantLine = 64;
inline constexpr uint32_t kNoAccess = 0xffffffffu;
/// Of local memory, which has no address of its own.
inline constexpr uint64_t kLocalBuffer = 1023;

struct Access {
  uint32_t first_sector = 0;  ///< index in Walk::sectors
  uint16_t sectors = 0;       ///< of 32 bytes; 0 for shared memory
  uint16_t lines = 0;         ///< of 128 bytes
  uint16_t wavefronts = 0;    ///< passes through shared memory's banks, or an atomic's conflicts
  uint16_t ideal = 0;         ///< passes, or sectors, that as many bytes need at least
  uint8_t lanes = 0;
  bool unknown = false;  ///< the addresses depend on data
};

struct Event {
  uint32_t step = 0;
  float weight = 1;  ///< stands for as many executions
  uint32_t access = kNoAccess;
  uint16_t lanes = 0;
  uint16_t changed = 0;  ///< bits of results that differ from the lane's result before
  uint16_t spread = 0;   ///< bits of results that differ from the neighbour lane's
};

struct WarpTrace {
  uint32_t block = 0;  ///< index in Walk::blocks
  uint32_t warp = 0;
  /// Warps of its block that it stands for, beside those of the average trace: itself and those up
  /// to the next one that was looked at.
  float share = 1;
  std::vector<Event> events;
  double executed() const;  ///< instructions, weights included
};

/// Addresses from `first` to before `end`; none where these are equal.
struct ConstantRange {
  uint64_t first = 0, end = 0;
  bool empty() const { return first == end; }
  void add(const ConstantRange& other);
};
/// What the warps' executions of a load with an index touched of constant memory.
struct ConstantUse {
  uint64_t place = 0;                        ///< place_of_constants()
  std::map<uint32_t, ConstantRange> blocks;  ///< by WarpTrace::block
  double loads = 0;
  double new_lines = 0;  ///< of these, such as read another line than the warp's load before
  bool unknown = false;  ///< the index depends on data
  bool uniform = true;   ///< all threads of a warp read the same
  void add(const ConstantUse& other);
  ConstantRange range() const;  ///< of all blocks
};

struct Walk {
  std::vector<std::array<uint32_t, 3>> blocks;  ///< that were looked at
  std::vector<WarpTrace> warps;                 ///< by block, then warp
  std::vector<WarpTrace> whole;                 ///< all warps of the first block
  std::vector<WarpTrace> beside;                ///< of a block that runs where that one does
  std::vector<Access> accesses;
  std::vector<uint64_t> sectors;              ///< address / 32
  std::map<uint32_t, ConstantUse> constants;  ///< by step
  std::vector<std::string> assumed;
  uint64_t executed = 0;  ///< steps that were run
  bool cut_short = false;
};

struct WalkLimits {
  uint64_t steps = 600'000;               ///< that all sample warps run together
  uint64_t steps_before_skipping = 3000;  ///< of one warp, before loops are skipped ahead
  uint32_t warps = 48;                    ///< sample warps, at most
  uint32_t multiprocessors = 0;           ///< that blocks are dealt to; 0: as many as blocks
};

/// `blocks` of the launch that are looked at: whole neighbours of the middle one (for reuse between
/// blocks) first, then some spread over the grid.
Walk walk(const Program& program, const Launch& launch, const WalkLimits& limits);

}  // namespace fathom
