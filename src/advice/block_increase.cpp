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
    Residency now = residency(view, group);
    // The same threads on all multiprocessors: each scheduler has fewer warps then.
    Parallelism p;
    p.issue_ratio = view.issued() / std::max(1.0, view.total());
    p.warps = now.warps_per_scheduler;
    p.new_warps = p.warps * blocks / multiprocessors;
    return {describe(view, group, p, multiprocessors)};
  }

 private:
  /// f corrects equations 8 and 9 by what was measured. Now: the schedulers' issue rate is known
  /// from the samples (those that are no latency samples). Then: where a scheduler has at most one
  /// warp left, nobody competes for a turn or a unit, so that a warp issues more often.
  static double factor(const KernelView& view, const Parallelism& p) {
    double measured = view.active() / std::max(1.0, view.total());
    double modelled = issue_rate(p.issue_ratio, p.warps);
    double now = measured > 0 ? modelled / measured : 1;
    if (p.new_warps > 1) return now;
    double alone = issue_rate(issue_ratio_alone(view), p.new_warps);
    return now * alone / std::max(1e-6, issue_rate(p.issue_ratio, p.new_warps));
  }

  static double issue_ratio_alone(const KernelView& view) {
    const StallCounts& s = view.kernel().samples;
    double contention = 0;
    for (StallReason reason :
         {StallReason::not_selected, StallReason::math_pipe_throttle, StallReason::dispatch_stall,
          StallReason::lg_throttle, StallReason::mio_throttle, StallReason::tex_throttle})
      contention += double(s.all[size_t(reason)]);
    return view.issued() / std::max(1.0, view.total() - contention);
  }

  static Finding describe(const KernelView& view, const LaunchGroup& group, Parallelism p,
                          double multiprocessors) {
    p.factor = factor(view, p);
    double blocks = double(group.shape.blocks());
    Finding finding;
    place_at_launch(view, finding);
    finding.evidence = {{"blocks", blocks, "blocks"},
                        {"multiprocessors", multiprocessors, "multiprocessors"},
                        {"threads per block", double(group.shape.threads_per_block()), "threads"},
                        {"warps per scheduler now", p.warps, "warps"},
                        {"warps per scheduler then", p.new_warps, "warps"},
                        {"chance that a sampled warp issues", p.issue_ratio, "fraction"}};
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
