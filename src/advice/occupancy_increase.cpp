// Occupancy limited by what a block takes: registers or shared memory. (Too small blocks are
// thread_increase.cpp's.)

#include <algorithm>
#include <cmath>

#include "advice/launch_shape.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// A launch that takes less, and what it would bring.
struct Target {
  LaunchShape shape;
  Occupancy occupancy;
  Change change;
  double speedup = 1;
};
/// Of several targets the most modest one that gains nearly as much as the best.
constexpr double kNearlyBest = 0.97;

constexpr double kFullWave = 0.95;
/// With fewer registers a thread keeps fewer loads under way and recomputes or spills.
constexpr double kWithFewerRegisters = 0.6;

class OccupancyIncrease : public Optimizer {
 public:
  std::string_view kind() const override { return "occupancy-increase"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const DeviceFacts* device = view.device();
    if (!device || view.kernel().groups.empty()) return {};
    const LaunchGroup& group = view.main_group();
    OccupancyLimit limit = group.occupancy.limit;
    if (limit != OccupancyLimit::registers && limit != OccupancyLimit::shared_memory) return {};
    // Without a further wave of blocks there is nothing to fill the room with, unless the grid was
    // made to fit the room.
    if (group.waves < kFullWave) return {};
    const WhatIf& model = view.model();
    std::vector<Target> targets;
    // Nobody halves what a block takes twice.
    uint32_t most = 2 * group.occupancy.active_blocks;
    for (uint32_t blocks = group.occupancy.active_blocks + 1; blocks <= most; ++blocks)
      if (auto target = reach(view, *device, group, model, blocks)) targets.push_back(*target);
    if (targets.empty()) return {};
    double best = 1;
    for (const Target& target : targets) best = std::max(best, target.speedup);
    for (const Target& target : targets)
      if (target.speedup - 1 >= kNearlyBest * (best - 1))
        return {describe(view, model, group, target)};
    return {};
  }

 private:
  /// What a launch may take at most for so many blocks at once; nothing if another limit forbids.
  static std::optional<Target> reach(const KernelView& view, const DeviceFacts& device,
                                     const LaunchGroup& group, const WhatIf& model,
                                     uint32_t blocks) {
    OccupancyLimits limits = limits_of(view.machine(), device);
    Target target;
    target.shape = group.shape;
    LaunchShape& shape = target.shape;
    if (group.occupancy.limit == OccupancyLimit::registers) {
      while (shape.registers_per_thread > 16 && occupancy_of(limits, shape).active_blocks < blocks)
        --shape.registers_per_thread;
    } else {
      uint32_t shared = limits.shared_memory / blocks - limits.reserved_shared_memory_per_block;
      shared -= shared % limits.shared_memory_unit;
      shape.static_shared_memory = std::min(shape.static_shared_memory, shared);
      shape.dynamic_shared_memory =
          std::min(shape.dynamic_shared_memory, shared - shape.static_shared_memory);
    }
    target.occupancy = occupancy_of(limits, shape);
    if (target.occupancy.active_blocks != blocks) return std::nullopt;
    double more =
        double(target.occupancy.active_warps) / std::max(1u, group.occupancy.active_warps);
    bool registers = group.occupancy.limit == OccupancyLimit::registers;
    target.change.warps = registers ? 1 + kWithFewerRegisters * (more - 1) : more;
    target.speedup = model.speedup(target.change);
    return target;
  }

  static Finding describe(const KernelView& view, const WhatIf& model, const LaunchGroup& group,
                          const Target& target) {
    const Occupancy& now = group.occupancy;
    bool registers = now.limit == OccupancyLimit::registers;
    Finding finding;
    place_at_launch(view, finding);
    finding.fix = registers ? "registers" : "shared-memory";
    finding.evidence = {
        {"theoretical occupancy now", now.fraction(), "fraction"},
        {"theoretical occupancy then", target.occupancy.fraction(), "fraction"},
        {"blocks that registers allow", double(now.limit_registers), "blocks"},
        {"blocks that shared memory allows", double(now.limit_shared_memory), "blocks"},
        {"blocks that warps allow", double(now.limit_warps), "blocks"},
        {"blocks that block slots allow", double(now.limit_blocks), "blocks"},
        {"issue slots busy", model.issue_busy(), "fraction"}};
    // Fewer registers cost spills, less shared memory costs reuse: nothing may be left of the gain.
    finding.speedup = estimate(view, model, target.change, registers ? 0.3 : 0.7, 1.1);
    finding.title =
        format("Only %u of %u warps fit: %s %s the limit", now.active_warps, now.available_warps,
               registers ? "registers" : "shared memory", registers ? "are" : "is");
    double shared = group.shape.static_shared_memory + group.shape.dynamic_shared_memory;
    double then = target.shape.static_shared_memory + target.shape.dynamic_shared_memory;
    std::string takes = registers
                            ? format("%u registers a thread", group.shape.registers_per_thread)
                            : format("%s of shared memory a block", human_bytes(shared).c_str());
    std::string wanted = registers ? format("%u registers", target.shape.registers_per_thread)
                                   : format("%s", human_bytes(then).c_str());
    finding.text = format(
        "With %s, %u blocks of %.0f threads are resident on a multiprocessor (occupancy %.0f%%), "
        "while the warp schedulers issue in only %.0f%% of the cycles. With at most %s, %u blocks "
        "would fit.",
        takes.c_str(), now.active_blocks, double(group.shape.threads_per_block()),
        100 * now.fraction(), 100 * model.issue_busy(), wanted.c_str(),
        target.occupancy.active_blocks);
    if (registers)
      finding.suggestions = {
          format("__launch_bounds__(%.0f, %u) at the kernel, or -maxrregcount=%u",
                 double(group.shape.threads_per_block()), target.occupancy.active_blocks,
                 target.shape.registers_per_thread),
          "keep fewer values alive: smaller tiles for each thread, less unrolling, recompute "
          "instead of keep",
          "use smaller types where they suffice (32-bit indices)"};
    else
      finding.suggestions = {
          format("allocate at most %s for a block: a smaller tile, a smaller type, or no second "
                 "buffer",
                 human_bytes(then).c_str()),
          "let two arrays that are not needed at the same time share their memory",
          "keep a thread's own values in registers, and exchange them by __shfl_sync()"};
    finding.assumptions = {registers ? "no values have to be spilled to local memory for it"
                                     : "smaller tiles do not lead to more memory traffic",
                           "the extra warps issue as readily as the present ones"};
    if (group.waves <= 1)
      finding.assumptions.push_back("the grid grows with the room: it fills the device just once");
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_occupancy_increase() {
  return std::make_unique<OccupancyIncrease>();
}

}  // namespace fathom
