#include "flow/liveness.h"

namespace fathom {
namespace {

void step_back(const Instruction& instruction, RegisterSet& live) {
  if (instruction.guard.always)
    for (Register reg : instruction.defs)
      if (reg.file == RegisterFile::general) live.reset(reg.index);
  for (Register reg : instruction.uses)
    if (reg.file == RegisterFile::general) live.set(reg.index);
}

}  // namespace

Liveness::Liveness(std::span<const Instruction> instructions, const ControlFlowGraph& graph)
    : instructions_(instructions), graph_(graph), out_(graph.blocks.size()) {
  std::vector<RegisterSet> in(graph.blocks.size());
  std::vector<bool> waiting(graph.blocks.size(), true);
  std::vector<uint32_t> work;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) work.push_back(b);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    waiting[b] = false;
    const Block& block = graph.blocks[b];
    out_[b].reset();
    for (uint32_t successor : block.successors) out_[b] |= in[successor];
    RegisterSet live = out_[b];
    for (uint32_t i = block.last + 1; i-- > block.first;) step_back(instructions[i], live);
    if (live == in[b]) continue;
    in[b] = live;
    for (uint32_t predecessor : block.predecessors) {
      if (waiting[predecessor]) continue;
      waiting[predecessor] = true;
      work.push_back(predecessor);
    }
  }
}

RegisterSet Liveness::before(uint32_t instruction) const {
  const uint32_t b = graph_.block_of[instruction];
  RegisterSet live = out_[b];
  for (uint32_t i = graph_.blocks[b].last + 1; i-- > instruction;)
    step_back(instructions_[i], live);
  return live;
}

}  // namespace fathom
