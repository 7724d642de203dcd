// Advice from a prediction: what its facts say about accesses, blocks and the launch.

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "prediction/predict.h"

namespace fathom {
namespace {

constexpr double kWorthwhile = 1.05;

class Adviser {
 public:
  Adviser(const KernelFacts& facts, const KernelPrediction& prediction)
      : facts_(facts), prediction_(prediction) {}

  std::vector<Finding> advise() {
    uncoalesced();
    bank_conflicts();
    few_blocks();
    partial_wave();
    short_kernel();
    occupancy();
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return (a.speedup ? a.speedup->mid : 1) > (b.speedup ? b.speedup->mid : 1);
    });
    return std::move(findings_);
  }

 private:
  Finding& add(const char* kind, const char* fix, uint32_t step, double speedup) {
    Finding finding;
    finding.kind = kind;
    finding.fix = fix;
    finding.subject = prediction_.name;
    if (step != kNoBlock) finding.location = facts_.program.at(step);
    finding.speedup = SpeedupRange{1, std::max(1.0, (1 + speedup) / 2), std::max(1.0, speedup)};
    finding.assumptions = prediction_.assumed;
    findings_.push_back(std::move(finding));
    return findings_.back();
  }

  double kernel_seconds() const {
    return std::max(1e-9, (prediction_.time_us - prediction_.launch_us) / 1e6);
  }
  double share_of_line(uint32_t step) const {
    for (const LineShare& each : prediction_.lines)
      if (each.at == facts_.program.at(step)) return each.share;
    return 0;
  }

  void uncoalesced() {
    for (uint32_t i = 0; i < facts_.program.steps.size(); ++i) {
      const Step& step = facts_.program.steps[i];
      const double ideal = std::max(1.0, static_cast<double>(step.bytes));
      if (facts_.per_warp[i] <= 0 || step.space == MemorySpace::local ||
          facts_.sectors[i] < 2 * ideal)
        continue;
      const double excess = facts_.per_warp[i] * facts_.warps() * (facts_.sectors[i] - ideal) * 32;
      const double saved = std::min(0.9, excess / std::max(1.0, facts_.memory.l2_bytes) *
                                             std::min(1.0, 4 * share_of_line(i) + 0.2));
      if (1 / (1 - saved) < kWorthwhile) continue;
      Finding& finding = add("memory-transaction-reduction", "coalesce", i, 1 / (1 - saved));
      finding.title = "Threads of a warp read or write places that lie apart";
      finding.text = format(
          "Each access takes %.1f sectors of 32 bytes where %.0f hold the data. Let neighbouring "
          "threads use neighbouring elements, or go through shared memory.",
          facts_.sectors[i], ideal);
      finding.evidence = {{"sectors of an access", facts_.sectors[i], "sectors"},
                          {"sectors that the data need", ideal, "sectors"}};
    }
  }

  void bank_conflicts() {
    for (uint32_t i = 0; i < facts_.program.steps.size(); ++i) {
      const double ideal = std::max(1.0, facts_.program.steps[i].bytes / 4.0);
      if (facts_.per_warp[i] <= 0 || facts_.passes[i] < 1.5 * ideal ||
          facts_.program.steps[i].op == Op::atomic)
        continue;
      const double clock = facts_.machine.prediction->clock_mhz * 1e6;
      const double saved = facts_.per_warp[i] * facts_.warps() / facts_.active *
                           (facts_.passes[i] - ideal) / clock / kernel_seconds();
      if (1 / (1 - std::min(0.9, saved)) < kWorthwhile) continue;
      Finding& finding = add("bank-conflicts", "padding", i, 1 / (1 - std::min(0.9, saved)));
      finding.title = "Threads of a warp want different words of one bank of shared memory";
      finding.text = format(
          "Each access takes %.1f passes instead of %.0f. Pad the rows of the array by one "
          "element, or change which thread uses which.",
          facts_.passes[i], ideal);
      finding.evidence = {{"passes of an access", facts_.passes[i], "passes"}};
    }
  }

  void few_blocks() {
    const double blocks = static_cast<double>(facts_.launch.blocks()),
                 all = facts_.machine.multiprocessors;
    if (blocks >= all) return;
    Finding& finding = add("block-increase", "more-blocks", kNoBlock, std::min(all / blocks, 8.0));
    finding.title = "The launch has fewer blocks than the device has multiprocessors";
    finding.text = format(
        "%.0f of %.0f multiprocessors have work. Split the work into more blocks.", blocks, all);
    finding.evidence = {{"blocks", blocks, "blocks"}, {"multiprocessors", all, "multiprocessors"}};
  }

  void partial_wave() {
    const double slots =
        static_cast<double>(facts_.occupancy.active_blocks) * facts_.machine.multiprocessors;
    const double waves = static_cast<double>(facts_.launch.blocks()) / slots;
    const double gain = std::ceil(waves) / waves;
    if (waves < 1 || gain < 1.15) return;
    Finding& finding = add("partial-wave", "block-count", kNoBlock, gain);
    finding.title = "The last wave of blocks leaves most of the device idle";
    finding.text = format(
        "%.2f waves of blocks take the time of %.0f. Choose a grid that is a multiple of %.0f "
        "blocks, or let blocks go over the data with the grid's stride.",
        waves, std::ceil(waves), slots);
    finding.evidence = {{"waves", waves, "waves"}};
  }

  void short_kernel() {
    if (prediction_.launch_us < 0.3 * prediction_.time_us) return;
    Finding& finding = add("small-kernels", "fuse", kNoBlock,
                           1 / (1 - 0.5 * prediction_.launch_us / prediction_.time_us));
    finding.title = "The kernel is so short that its launch counts";
    finding.text = format(
        "%.1f of %.1f microseconds are the launch. Join it with its neighbours, or launch through "
        "a CUDA graph.",
        prediction_.launch_us, prediction_.time_us);
    finding.evidence = {{"launch", prediction_.launch_us, "us"}};
  }

  void occupancy() {
    const bool waits = starts_with(prediction_.bound_by, "latency");
    if (!waits || facts_.occupancy.fraction() > 0.5 ||
        facts_.occupancy.limit == OccupancyLimit::none)
      return;
    if (facts_.launch.blocks() <
        uint64_t{facts_.occupancy.active_blocks} * facts_.machine.multiprocessors)
      return;
    const bool registers = facts_.occupancy.limit == OccupancyLimit::registers;
    Finding& finding = add("occupancy", registers ? "registers" : "shared-memory", kNoBlock,
                           1 / std::max(0.4, 2 * facts_.occupancy.fraction()));
    finding.title = "Few warps run at once, and they wait";
    finding.text = format("%u of %u warps fit on a multiprocessor; what limits them is %s.",
                          facts_.occupancy.active_warps, facts_.occupancy.available_warps,
                          registers ? "registers" : "the block's size or shared memory");
    finding.evidence = {{"occupancy", facts_.occupancy.fraction(), "fraction"}};
  }

  const KernelFacts& facts_;
  const KernelPrediction& prediction_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> advise(const KernelFacts& facts, const KernelPrediction& prediction) {
  return Adviser(facts, prediction).advise();
}

}  // namespace fathom
