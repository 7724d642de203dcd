// Block Increase (GPA paper, table 2): fewer blocks than multiprocessors leave some of them idle.

#include "advice/launch_shape.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

class BlockIncrease : public Optimizer {
 public:
  std::string_view kind() const override { return "block-increase"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const DeviceFacts* device = view.device();
    if (!device || view.kernel().groups.empty()) return {};
    const LaunchGroup& group = view.main_group();
    double blocks = double(group.shape.blocks()), multiprocessors = device->multiprocessors;
    if (blocks >= multiprocessors || blocks == 0) return {};
    return {describe(view, group, multiprocessors)};
  }

 private:
  static Finding describe(const KernelView& view, const LaunchGroup& group,
                          double multiprocessors) {
    double blocks = double(group.shape.blocks());
    // The same threads on all multiprocessors: each scheduler has fewer warps then.
    double warps = residency(view, group).warps_per_scheduler;
    Finding finding;
    place_at_launch(view, finding);
    finding.evidence = {{"blocks", blocks, "blocks"},
                        {"multiprocessors", multiprocessors, "multiprocessors"},
                        {"threads per block", double(group.shape.threads_per_block()), "threads"},
                        {"warps per scheduler now", warps, "warps"},
                        {"warps per scheduler then", warps * blocks / multiprocessors, "warps"},
                        {"chance that a sampled warp issues",
                         view.issued() / std::max(1.0, view.total()), "fraction"}};
    Change change;
    change.warps = blocks / multiprocessors;
    change.multiprocessors = multiprocessors / blocks;
    finding.speedup = estimate(view, view.model(), change, 0.75, 1.05);
    finding.title = format("Too few blocks: %.0f of %.0f multiprocessors are idle",
                           multiprocessors - blocks, multiprocessors);
    finding.text = format(
        "The kernel is launched with %.0f blocks on a GPU with %.0f multiprocessors. A block runs "
        "on one multiprocessor, so "
        "%.0f%% of the GPU does nothing.",
        blocks, multiprocessors, 100 * (1 - blocks / multiprocessors));
    finding.suggestions = {
        format("launch at least %.0f blocks, better a multiple of that", multiprocessors),
        format("split the work finer: smaller blocks (now %.0f threads) and more of them",
               double(group.shape.threads_per_block())),
        "run independent kernels at the same time in several streams"};
    finding.assumptions = {"the work can be split evenly over more blocks",
                           "memory bandwidth is not used up by the multiprocessors that work now"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_block_increase() {
  return std::make_unique<BlockIncrease>();
}

}  // namespace fathom
