#pragma once
// Loops whose accesses are known before they run, and loops that only wait.

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <vector>

#include "instrument/accesses.h"

namespace fathom::instrument {

/// `count` accesses, `stride` bytes apart, to be told before `before`.
struct StridedAccess {
  llvm::Instruction* at = nullptr;  ///< one of the accesses: their place
  llvm::Instruction* before = nullptr;
  llvm::Value* address = nullptr;
  llvm::Value* count = nullptr;   ///< 64 bits
  llvm::Value* stride = nullptr;  ///< 64 bits
  uint32_t size = 0;
  bool is_write = false;
};

struct LoopAnalyses {
  llvm::LoopInfo& loops;
  llvm::DominatorTree& dominators;
  llvm::ScalarEvolution& evolution;
};

/// Takes those accesses out of `plain` that run once in each round of an innermost loop without
/// synchronization, whose address moves by the same stride in each round, if the number of rounds
/// is known before the loop. Writes what computes address, stride and count before the loop.
std::vector<StridedAccess> take_strided(std::vector<Access>& plain, const LoopAnalyses& analyses);

/// Marks the loads that end a loop which does nothing but wait for them.
void mark_spinning(std::vector<Access>& plain, const llvm::LoopInfo& loops);

}  // namespace fathom::instrument
