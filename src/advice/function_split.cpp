// Function Split (GPA paper, table 2): warps wait for instructions, since the code that runs
// together does not fit into the instruction caches, or is executed only once.

#include <algorithm>
#include <set>

#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Code that is larger than this runs from the caches further away. Source: public
/// microbenchmarks of Volta and later: about 12 KiB in front of a scheduler, 128 KiB for a
/// multiprocessor.
constexpr double kNearCacheBytes = 12 * 1024, kMultiprocessorCacheBytes = 128 * 1024;
/// Some waiting for instructions is in every kernel.
constexpr double kLeastShare = 0.05;
/// Split code is fetched as well, and what its parts hand to each other costs instructions.
constexpr double kFetched = 0.5;
/// A launch that is over sooner reads its code from far away for the first time.
constexpr double kShortLaunch = 20e-6;

class FunctionSplit : public Optimizer {
 public:
  std::string_view kind() const override { return "function-split"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots hotspots;
    double bytes = 0;
    uint32_t copies = 1;
    for (const FunctionPart& part : view.parts()) {
      const AnalyzedFunction& function = *part.function;
      std::set<uint32_t> entered = after_calls(function);
      for (uint32_t i = 0; i < function.instructions.size(); ++i) {
        const StallCounts& samples = function.samples[i];
        if (samples.total()) bytes += 16;
        uint64_t waiting = samples.all[size_t(StallReason::no_instructions)];
        if (waiting && !entered.count(i)) hotspots.add_own(view, part, i, double(waiting));
      }
      for (const LoopView& loop : view_loops(view, part))
        if (loop.innermost && loop.active > 0.2 * view.active())
          copies = std::max(copies, loop.copies);
    }
    if (hotspots.stalls() < kLeastShare * view.total()) return {};
    return {describe(view, hotspots, bytes, copies)};
  }

 private:
  /// Places that a call or its return jumps to: their waiting is that of the call.
  static std::set<uint32_t> after_calls(const AnalyzedFunction& function) {
    std::set<uint32_t> places;
    for (uint32_t i = 0; i + 1 < function.instructions.size(); ++i)
      if (function.instructions[i].flow == Flow::call) places.insert(i + 1);
    return places;
  }

  static Finding describe(const KernelView& view, const Hotspots& hotspots, double bytes,
                          uint32_t copies) {
    const KernelSummary& kernel = view.kernel();
    double each = kernel.launches ? kernel.seconds / double(kernel.launches) : 0;
    bool is_short = each < kShortLaunch && bytes < kMultiprocessorCacheBytes;
    Finding finding;
    finding.location = hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : hotspots.sorted()) {
      if (finding.related.size() == 3) break;
      finding.related.push_back({"waits for instructions", spot.cause, spot.cause_text});
    }
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back({"code that has samples", bytes, "bytes"});
    Change change;
    change.delay = kFetched * hotspots.stalls();
    finding.speedup = estimate(view, view.model(), change, 0.1, 2);
    double percent = 100 * hotspots.stalls() / view.total();
    finding.title = "Warps wait for their instructions";
    if (is_short) {
      finding.fix = "kernel-merge";
      finding.text = format(
          "%.0f%% of the kernel's samples wait for instructions to be fetched. A launch lasts only "
          "%s, so that much of its code comes from far away, once for each launch.",
          percent, human_seconds(each).c_str());
      finding.suggestions = {
          "let one launch do the work of several, so that code that was fetched is used again",
          "remove code from the kernel that this launch does not need (template parameters instead "
          "of run-time flags)"};
    } else {
      finding.fix = copies >= 4 ? "less-unrolling" : "";
      finding.text = format(
          "%.0f%% of the kernel's samples wait for instructions to be fetched. %s of code are in "
          "use; the cache in front of a scheduler holds about %s, that of a multiprocessor %s.",
          percent, human_bytes(bytes).c_str(), human_bytes(kNearCacheBytes).c_str(),
          human_bytes(kMultiprocessorCacheBytes).c_str());
      finding.suggestions = {
          "split the kernel, or the loop, into parts that run one after the other, each small "
          "enough for the cache",
          "put #pragma unroll 1 (or a smaller factor) in front of loops with large bodies",
          "mark large functions that are called from several places __noinline__",
          "let the warps of a block go through the code together (__syncthreads() between phases)"};
      if (copies >= 4) std::swap(finding.suggestions[0], finding.suggestions[1]);
    }
    finding.assumptions = {"the parts find their code in the cache"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_function_split() {
  return std::make_unique<FunctionSplit>();
}

}  // namespace fathom
