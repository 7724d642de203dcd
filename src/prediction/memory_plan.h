#pragma once
// What caches make of the accesses of a walk: which sectors come from L1, from L2 and from memory.

#include <map>
#include <vector>

#include "machine/machine.h"
#include "prediction/constant_cache.h"
#include "prediction/walk.h"

namespace fathom {

/// Reads of a buffer, or writes.
struct BufferUse {
  double unique_bytes = 0;                       ///< that the whole launch touches
  double wave_bytes = 0;                         ///< that the blocks which run at once touch
  double place_bytes = 0, wave_place_bytes = 0;  ///< of L2 that these take
  double l2_bytes = 0;                           ///< asked of L2 by the whole launch
  double dram_share = 0;                         ///< of those
  /// Bytes that memory moves for a byte that is asked of it: it moves pairs of sectors.
  double granule_cost = 1;
};

struct MemoryPlan {
  std::vector<float> l2_sectors;          ///< by Walk::accesses: what L1 does not have
  std::map<uint64_t, BufferUse> uses;     ///< by use_of()
  std::vector<bool> hot;                  ///< by step: an atomic whose addresses all blocks share
  std::vector<ConstantMisses> constants;  ///< by step
  double l1_hit_share = 0;
  double footprint_bytes = 0;
  double dram_bytes = 0;  ///< of the whole launch
  double l2_bytes = 0;
  /// Which use of a buffer an access to global or local memory is.
  static uint64_t use_of(const Walk& walk, const Access& access, Op op) {
    const uint64_t buffer = walk.sectors[access.first_sector] >> (kBufferShift - 5);
    return buffer * 2 + (op == Op::store || op == Op::atomic);
  }
};

/// `resident_blocks` run at once on each of `active` multiprocessors. Data that fit into L2 are
/// taken to be there from the launch before.
MemoryPlan plan_memory(const Program& program, const Walk& walk, const Launch& launch,
                       const MachineModel& machine, uint32_t resident_blocks, uint32_t active);

}  // namespace fathom
