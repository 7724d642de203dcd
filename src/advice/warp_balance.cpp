// Warp Balance (GPA paper, table 2): warps wait at a block-wide barrier for others that have more
// to do.

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// The line that keeps the late warps busy while the others wait: the one with most samples that
/// are no waiting at a barrier. `wait` itself does not count.
SourceLocation busiest_line(const KernelView& view, const SourceLocation& wait) {
  std::map<SourceLocation, double> busy;
  for (const FunctionPart& part : view.parts())
    for (uint32_t i = 0; i < part.function->instructions.size(); ++i) {
      const StallCounts& counts = part.function->samples[i];
      double samples = double(counts.total() - counts.all[size_t(StallReason::barrier)]);
      const SourceLocation& at = view.facts(part, i).at;
      if (at.line && at != wait) busy[at] += part.fraction * samples;
    }
  SourceLocation best;
  double most = 0;
  for (const auto& [at, samples] : busy)
    if (samples > most) best = at, most = samples;
  return best;
}

class WarpBalance : public Optimizer {
 public:
  std::string_view kind() const override { return "warp-balance"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame)
        if (edge.reason == StallReason::barrier) hotspots.add(view, part, edge);
    if (hotspots.empty()) return {};
    Finding finding;
    finding.location = hotspots.hottest_cause();
    finding.related = related_of(hotspots, 3);
    SourceLocation work = busiest_line(view, finding.location);
    if (work.line)
      finding.related.push_back(
          {"busy meanwhile", work, "the line that the late warps spend most time on"});
    finding.evidence = sample_evidence(view, hotspots.stalls());
    Change change;
    change.delay = hotspots.stalls();
    finding.speedup = estimate(view, view.model(), change, 0.75, 1.03);
    finding.title = "Warps wait for each other at a barrier";
    finding.text = format(
        "%.0f%% of the kernel's samples are warps that have reached a block-wide barrier and wait "
        "there for warps that "
        "still work. The work before the barrier is spread unevenly over the warps of a block, or "
        "there are more "
        "barriers than the work needs.",
        100 * hotspots.stalls() / view.total());
    finding.suggestions = {
        "give every warp of the block the same amount of work before the barrier",
        "use __syncwarp() or a smaller cooperative group where only some threads exchange data",
        "use smaller blocks, so that fewer warps wait for the slowest one"};
    finding.assumptions = {
        "the warps that wait could finish the same work in the time that they wait"};
    return {finding};
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_warp_balance() {
  return std::make_unique<WarpBalance>();
}

}  // namespace fathom
