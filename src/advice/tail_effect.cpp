// Tail effect: the last wave of blocks fills only a part of the device, while the rest has
// finished.

#include <algorithm>
#include <cmath>

#include "advice/estimators.h"
#include "advice/launch_shape.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Beyond so many waves the last one hardly matters.
constexpr double kMostWaves = 12;

class TailEffect : public Optimizer {
 public:
  std::string_view kind() const override { return "tail-effect"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const DeviceFacts* device = view.device();
    if (!device || view.kernel().groups.empty()) return {};
    const LaunchGroup& group = view.main_group();
    double blocks = double(group.shape.blocks()), units = device->multiprocessors;
    double slots = group.occupancy.active_blocks * units;
    if (slots == 0 || units == 0 || blocks <= units || group.waves > kMostWaves) return {};
    const WhatIf& model = view.model();
    double full = std::floor(blocks / slots), rest = blocks - full * slots;
    if (rest == 0) return {};
    // The fullest multiprocessor decides when the last wave ends. Fewer warps there hinder each
    // other less: the last wave is shorter than the others.
    double most = std::ceil(rest / units);
    double last = block_time(model, most / group.occupancy.active_blocks);
    // All places full all the time; or, if there is no full wave, the blocks spread evenly.
    double ideal =
        full > 0 ? blocks / slots : block_time(model, rest / units / group.occupancy.active_blocks);
    double gain = (full + last) / ideal;
    if (gain < 1.02) return {};
    return {describe(view, group, full, rest, slots, gain)};
  }

 private:
  /// Duration of a block beside this share of the usual warps; 1 = beside all of them.
  static double block_time(const WhatIf& model, double warps) {
    Change change;
    change.warps = warps;
    return warps / std::max(1e-9, model.speedup(change));
  }

  static Finding describe(const KernelView& view, const LaunchGroup& group, double full,
                          double rest, double slots, double gain) {
    Finding finding;
    place_at_launch(view, finding);
    double blocks = double(group.shape.blocks());
    finding.fix = "grid-size";
    finding.evidence = {{"blocks", blocks, "blocks"},
                        {"blocks at a time", slots, "blocks"},
                        {"waves", group.waves, "waves"},
                        {"blocks in the last wave", rest, "blocks"}};
    // Blocks that end at different times fill the gap already.
    if (view.total() >= kFewestSamples)
      finding.speedup = SpeedupRange{1 + 0.3 * (gain - 1), gain, 1 + 1.1 * (gain - 1)};
    finding.title =
        format("The last of %.0f waves of blocks is %.0f%% full", full + 1, 100 * rest / slots);
    finding.text = format(
        "The device runs %.0f blocks of this launch at a time. %.0f blocks make %.2f waves: in the "
        "last one %.0f blocks run, and the other places are empty.",
        slots, blocks, blocks / slots, rest);
    finding.suggestions = {
        format("launch %.0f blocks (or a multiple) that each take work from a grid-stride loop",
               slots),
        "use smaller blocks, so that the last wave is shorter and fuller",
        "run another kernel beside it in a second stream"};
    finding.assumptions = {"all blocks take about the same time",
                           "the work can be divided into another number of blocks"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_tail_effect() {
  return std::make_unique<TailEffect>();
}

}  // namespace fathom
