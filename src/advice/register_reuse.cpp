// Register Reuse (GPA paper, table 2): values that do not fit into registers, or arrays indexed at
// run time, live in local memory, which is as far away as global memory.

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

bool is_local_access(const Instruction& instruction) {
  return instruction.space == MemorySpace::local && instruction.is_memory();
}

class RegisterReuse : public Optimizer {
 public:
  std::string_view kind() const override { return "register-reuse"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame) {
        bool own = edge.producer == edge.consumer;
        if (!is_local_access(part.function->instructions[edge.producer])) continue;
        if (own ? edge.kind == StallClass::throttle : edge.kind != StallClass::arithmetic)
          hotspots.add(view, part, edge);
      }
    if (hotspots.empty()) return {};
    return {describe(view, hotspots)};
  }

 private:
  static Finding describe(const KernelView& view, const Hotspots& hotspots) {
    const LaunchShape& shape = view.main_group().shape;
    Finding finding;
    finding.location = hotspots.hottest_cause();
    finding.related = related_of(hotspots, 3);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back(
        {"registers per thread", double(shape.registers_per_thread), "registers"});
    finding.evidence.push_back(
        {"local memory per thread", double(shape.local_memory_per_thread), "bytes"});
    Change change;
    change.delay = hotspots.stalls();
    finding.speedup = estimate(view, WhatIf(view), change, 0.7, 1.3);
    finding.title = "Waiting for local memory";
    finding.text = format(
        "%.0f%% of the kernel's samples wait for local memory. The compiler puts values there that "
        "do not fit into "
        "registers (spills), and arrays of a thread that are indexed by a value that it does not "
        "know.",
        100 * hotspots.stalls() / view.total());
    finding.suggestions = {
        "unroll the loop around an indexed array completely, so that each index is a constant and "
        "its elements become registers",
        "keep a small window in named variables and shift them, instead of a ring buffer",
        "put the array into shared memory",
        "for spills: split the loop or the kernel, so that fewer values live at a time, or raise "
        "the limit "
        "(__launch_bounds__, -maxrregcount)"};
    finding.assumptions = {"the values find room in registers"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_register_reuse() {
  return std::make_unique<RegisterReuse>();
}

}  // namespace fathom
