#pragma once

#include <bitset>
#include <span>
#include <vector>

#include "flow/control_flow.h"

namespace fathom {

/// General registers.
using RegisterSet = std::bitset<256>;

/// Which general registers hold a value that is still needed. Standard backward data flow (Aho,
/// Lam, Sethi, Ullman, "Compilers", section 9.2.5); a definition under a predicate ends no life.
class Liveness {
 public:
  /// Both must outlive it.
  Liveness(std::span<const Instruction> instructions, const ControlFlowGraph& graph);

  /// Just before `instruction`.
  RegisterSet before(uint32_t instruction) const;

 private:
  std::span<const Instruction> instructions_;
  const ControlFlowGraph& graph_;
  std::vector<RegisterSet> out_;  ///< by block, at its end
};

}  // namespace fathom
