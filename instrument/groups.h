#pragma once
// Accesses of a basic block that can be counted together.

#include <llvm/Analysis/ScalarEvolution.h>

#include <vector>

#include "instrument/accesses.h"

namespace fathom::instrument {

/// Equal accesses: `count` of them.
struct Member {
  llvm::Instruction* at = nullptr;  ///< the first of them
  llvm::Value* address = nullptr;
  int64_t offset = 0;  ///< from the group's first access
  int64_t within = 0;  ///< of a part of a wide access: from its address
  uint32_t size = 0;
  bool is_write = false;
  uint64_t count = 1;
  size_t order = 0;  ///< in the function
};

/// Accesses at constant distances from each other, with no synchronization between them. Counted
/// together at the first; if they are not equal positions one after the other, only where they turn
/// out to lie in one cache line.
struct Group {
  llvm::Instruction* at = nullptr;
  llvm::Value* address = nullptr;  ///< of the first access
  int64_t low = 0, high = 0;       ///< the range of bytes, from the first access
  uint64_t alignment = 1;          ///< of the byte at `low`
  std::vector<Member> members;
  int64_t spacing = 0;      ///< of equal positions, one after the other, if it is not 0
  uint64_t positions = 1;   ///< then how many
  size_t order = 0;         ///< of the group's first access in the function
  uint32_t flags = 0;       ///< for the runtime, besides kIsWrite
  bool is_ordered = false;  ///< the group is one atomic or volatile access

  uint64_t span() const { return static_cast<uint64_t>(high - low); }
};

/// Without `evolution` (code that was not optimized), addresses are compared by their form only.
std::vector<Group> group_accesses(const std::vector<Access>& plain,
                                  llvm::ScalarEvolution* evolution);

}  // namespace fathom::instrument
