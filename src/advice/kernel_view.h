#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attribution/attribution.h"
#include "attribution/lane_access.h"

namespace fathom {

/// A function's part in a kernel.
struct FunctionPart {
  const AnalyzedFunction* function = nullptr;
  double fraction = 1;  ///< of the function's samples
};

struct AccessCost;
class WhatIf;

/// One kernel as an optimizer sees it. All sample numbers are those of this kernel.
class KernelView {
 public:
  KernelView(const Attribution& attribution, uint32_t kernel);

  const KernelSummary& kernel() const { return kernel_; }
  const Profile& profile() const { return attribution_.profile; }
  const DeviceFacts* device() const;
  const MachineModel& machine() const { return *parts_.front().function->machine; }
  const std::vector<FunctionPart>& parts() const { return parts_; }

  double total() const { return total_; }    ///< T
  double active() const { return active_; }  ///< A
  double issued() const { return issued_; }
  double latency() const { return total_ - active_; }

  /// The launch group that took most of the time.
  const LaunchGroup& main_group() const { return kernel_.groups.front(); }
  /// Where the host launched it, if the host program has line tables.
  SourceLocation launch_site() const;
  /// Where the kernel's code begins.
  SourceLocation first_line() const;
  const InstructionFacts& facts(const FunctionPart& part, uint32_t instruction) const {
    return attribution_.profile.instructions[part.function->first_instruction + instruction];
  }
  /// How the part's memory accesses spread over a warp, for the blocks of the main group. Read
  /// once.
  const std::vector<LaneAccess>& accesses(const FunctionPart& part) const;
  /// What its memory accesses cost. Computed once.
  const std::vector<AccessCost>& access_costs() const;
  /// The queueing model of the kernel as it was measured. Fitted once.
  const WhatIf& model() const;
  /// The source line quoted, without leading blanks; empty if the source is not there.
  std::string quote(const SourceLocation& at) const;

 private:
  const Attribution& attribution_;
  const KernelSummary& kernel_;
  std::vector<FunctionPart> parts_;
  double total_ = 0, active_ = 0, issued_ = 0;
  mutable std::map<const AnalyzedFunction*, std::vector<LaneAccess>> accesses_;
  mutable std::shared_ptr<const std::vector<AccessCost>> access_costs_;
  mutable std::shared_ptr<const WhatIf> model_;
};

/// Code that the compiler or the toolkit's headers put between the launch of `kernel` and the
/// user's line.
bool is_launch_glue(const Context& context, const std::string& kernel);

/// Stalls that an optimizer matched, gathered by the source lines of their cause and of the place
/// that waits.
class Hotspots {
 public:
  struct Spot {
    SourceLocation cause, wait;
    std::string cause_text, wait_text;  ///< instructions
    double stalls = 0, latency = 0;     ///< samples
    uint32_t distance = 0;              ///< instructions between them, of the heaviest edge
    double heaviest = 0;
    /// Instructions behind the cause that it waits for itself, and where they are; the root last.
    std::vector<std::pair<std::string, SourceLocation>> chain;
  };

  void add(const KernelView& view, const FunctionPart& part, const Blame& edge);
  /// Samples of an instruction that are their own cause.
  void add_own(const KernelView& view, const FunctionPart& part, uint32_t instruction,
               double samples);

  double stalls() const { return stalls_; }
  double latency() const { return latency_; }
  bool empty() const { return spots_.empty(); }
  std::vector<Spot> sorted() const;      ///< most stalls first
  SourceLocation hottest_cause() const;  ///< the line that causes most of the matched stalls

 private:
  Spot& spot(const KernelView& view, const FunctionPart& part, uint32_t cause, uint32_t wait);
  std::map<std::pair<SourceLocation, SourceLocation>, Spot> spots_;
  double stalls_ = 0, latency_ = 0;
};

}  // namespace fathom
