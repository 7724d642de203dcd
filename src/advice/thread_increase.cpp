// Thread Increase (GPA paper, table 2): blocks have so few threads that the limit of blocks per
// multiprocessor keeps most warp slots empty.

#include "advice/launch_shape.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

class ThreadIncrease : public Optimizer {
 public:
  std::string_view kind() const override { return "thread-increase"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const DeviceFacts* device = view.device();
    if (!device || view.kernel().groups.empty()) return {};
    const LaunchGroup& group = view.main_group();
    if (group.occupancy.limit != OccupancyLimit::blocks) return {};
    LaunchShape best = best_shape(view, *device, group);
    Occupancy then = occupancy_of(limits_of(view.machine(), *device), best);
    if (then.active_warps <= group.occupancy.active_warps) return {};
    Residency now = residency(view, group);
    LaunchGroup bigger = group;
    bigger.shape = best;
    bigger.occupancy = then;
    double then_warps = residency(view, bigger).warps_per_scheduler;
    if (then_warps <= now.warps_per_scheduler) return {};
    return {describe(view, group, bigger, now.warps_per_scheduler, then_warps)};
  }

 private:
  /// The smallest block size, in powers of two, with the highest occupancy that the kernel's
  /// resources allow.
  static LaunchShape best_shape(const KernelView& view, const DeviceFacts& device,
                                const LaunchGroup& group) {
    LaunchShape best = group.shape;
    uint32_t most = group.occupancy.active_warps;
    for (uint64_t threads = group.shape.threads_per_block() * 2; threads <= 512; threads *= 2) {
      LaunchShape shape = group.shape;
      uint64_t merged = threads / group.shape.threads_per_block();
      shape.block = {uint32_t(threads), 1, 1};
      shape.grid = {uint32_t((group.shape.blocks() + merged - 1) / merged), 1, 1};
      shape.static_shared_memory *= uint32_t(merged);
      shape.dynamic_shared_memory *= uint32_t(merged);
      uint32_t warps = occupancy_of(limits_of(view.machine(), device), shape).active_warps;
      if (warps > most) best = shape, most = warps;
    }
    return best;
  }

  static Finding describe(const KernelView& view, const LaunchGroup& group,
                          const LaunchGroup& bigger, double now_warps, double then_warps) {
    double threads = double(group.shape.threads_per_block()),
           new_threads = double(bigger.shape.threads_per_block());
    Finding finding;
    place_at_launch(view, finding);
    finding.evidence = {{"threads per block", threads, "threads"},
                        {"theoretical occupancy now", group.occupancy.fraction(), "fraction"},
                        {"theoretical occupancy then", bigger.occupancy.fraction(), "fraction"},
                        {"warps per scheduler now", now_warps, "warps"},
                        {"warps per scheduler then", then_warps, "warps"},
                        {"chance that a sampled warp issues",
                         view.issued() / std::max(1.0, view.total()), "fraction"}};
    Change change;
    change.warps = then_warps / now_warps;
    finding.speedup = estimate(view, view.model(), change, 0.7, 1.1);
    finding.title = format("Small blocks: at most %u of %u warps can be resident",
                           group.occupancy.active_warps, group.occupancy.available_warps);
    finding.text = format(
        "A multiprocessor holds at most %u blocks. With %.0f threads each, that is %u of %u "
        "possible warps "
        "(occupancy %.0f%%), too few to hide waiting behind other warps' work.",
        group.occupancy.limit_blocks, threads, group.occupancy.active_warps,
        group.occupancy.available_warps, 100 * group.occupancy.fraction());
    finding.suggestions = {
        format("use blocks of %.0f threads (now %.0f): occupancy becomes %.0f%%", new_threads,
               threads, 100 * bigger.occupancy.fraction()),
        "let several of today's blocks become one, indexed by threadIdx / old block size"};
    finding.assumptions = {"the extra warps issue as readily as the present ones",
                           "memory bandwidth is not used up yet"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_thread_increase() {
  return std::make_unique<ThreadIncrease>();
}

}  // namespace fathom
