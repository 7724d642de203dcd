#include "advice/loops.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fathom {

uint32_t unroll_factor(const LoopView& loop) {
  if (!loop.innermost || loop.copies > 1 || loop.has_barrier || loop.instructions == 0) return 1;
  return std::clamp(kUnrolledBody / loop.instructions, 1u, kMostCopies);
}

bool is_hideable(const Blame& edge) {
  if (edge.producer == edge.consumer || edge.latency <= 0) return false;
  switch (edge.kind) {
    case StallClass::global_memory:
    case StallClass::shared_memory:
    case StallClass::arithmetic:
      return true;
    default:
      return false;
  }
}

namespace {

/// What each copy of a loop's body does once more: memory accesses and floating-point arithmetic.
bool is_body_work(const Instruction& instruction) {
  switch (instruction.op_class) {
    case OpClass::load:
      return instruction.space != MemorySpace::constant;
    case OpClass::store:
    case OpClass::atomic:
    case OpClass::fp16:
    case OpClass::fp32:
    case OpClass::fp64:
    case OpClass::tensor:
      return true;
    default:
      return false;
  }
}

/// By lines and opcodes: a line was copied as often as the rarest of its opcodes occurs.
uint32_t copies_of(const std::map<SourceLocation, std::map<std::string_view, uint32_t>>& lines) {
  uint32_t copies = 1;
  for (const auto& [at, opcodes] : lines) {
    uint32_t fewest = UINT32_MAX;
    bool loads = false;
    for (const auto& [opcode, count] : opcodes) {
      fewest = std::min(fewest, count);
      loads = loads || starts_with(opcode, "LD");
    }
    if (loads) copies = std::max(copies, fewest);
  }
  return copies;
}

}  // namespace

std::vector<LoopView> view_loops(const KernelView& view, const FunctionPart& part) {
  const AnalyzedFunction& function = *part.function;
  std::vector<LoopView> result(function.loops.loops.size());
  for (uint32_t l = 0; l < result.size(); ++l) {
    LoopView& loop = result[l];
    loop.loop = l;
    uint32_t parent = function.loops.loops[l].parent;
    if (parent != kNoBlock) result[parent].innermost = false;
    std::map<SourceLocation, std::map<std::string_view, uint32_t>> lines;
    for (uint32_t block : function.loops.loops[l].blocks)
      for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
           ++i) {
        const Instruction& instruction = function.instructions[i];
        ++loop.instructions;
        loop.active += part.fraction * double(function.samples[i].active());
        loop.has_barrier = loop.has_barrier || instruction.base_opcode() == "BAR";
        if (is_body_work(instruction)) ++lines[view.facts(part, i).at][instruction.base_opcode()];
      }
    loop.copies = copies_of(lines);
  }
  return result;
}

namespace {

/// Adds a step to itself: "VIADD R7, R7, 0x1".
bool is_counter(const Instruction& instruction) {
  std::string_view base = instruction.base_opcode();
  if (base != "IADD3" && base != "VIADD" && base != "UIADD3" && base != "IADD") return false;
  for (Register def : instruction.defs)
    if (std::binary_search(instruction.uses.begin(), instruction.uses.end(), def)) return true;
  return false;
}

}  // namespace

std::optional<double> trips_of(const AnalyzedFunction& function, uint32_t loop) {
  const Loop& l = function.loops.loops[loop];
  double entries = 0, instructions = 0;
  for (uint32_t before : function.graph.blocks[l.header].predecessors) {
    if (function.loops.contains(loop, before)) continue;
    const Block& block = function.graph.blocks[before];
    if (block.successors.size() != 1) return std::nullopt;
    entries += executions_of(function, before);
    instructions += block.last - block.first + 1;
  }
  if (instructions == 0) return std::nullopt;
  // The error of a count of samples is its root; three of them are allowed for.
  double samples = entries * instructions;
  double most_entries = (samples + 3 * std::sqrt(samples + 1)) / instructions;
  return std::max(1.0, executions_of(function, l.header) / most_entries);
}

Change loop_overhead(const KernelView& view, const FunctionPart& part, uint32_t loop,
                     const LoopDependences& dependences) {
  const AnalyzedFunction& function = *part.function;
  std::set<uint32_t> overhead;
  for (uint32_t block : function.loops.loops[loop].blocks)
    for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
         ++i)
      if (is_counter(function.instructions[i]) && dependences.is_recurrent(i)) overhead.insert(i);
  for (uint32_t latch : function.loops.loops[loop].latches) {
    const Block& block = function.graph.blocks[latch];
    const Instruction& jump = function.instructions[block.last];
    if (jump.flow != Flow::branch) continue;
    overhead.insert(block.last);
    if (auto test = test_of(function, block.last)) overhead.insert(*test);
  }
  Change change;
  for (uint32_t i : overhead) change += view.model().without(view, part, i);
  return change;
}

}  // namespace fathom
