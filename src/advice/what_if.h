#pragma once

#include <array>
#include <optional>

#include "advice/kernel_view.h"
#include "model/finding.h"

namespace fathom {

/// What a change of a kernel's code or launch takes away, in samples of the kernel. Demands are
/// service times at a unit that warps queue for; delays are waits that nobody else lengthens.
struct Change {
  double issue = 0;     ///< issue slots of instructions that are not executed any more
  double delay = 0;     ///< waits for results, barriers, instructions: anything without a queue
  double together = 0;  ///< of `delay`, waits that all warps of a block have at the same time
  double math = 0;      ///< demand on the busiest arithmetic pipe
  double access = 0;    ///< demand on the load/store unit (L1, shared memory)
  double memory = 0;    ///< demand on L2 and device memory
  double warps = 1;     ///< W_new / W: resident warps per scheduler
  double multiprocessors = 1;  ///< busy ones, new / now

  Change& operator+=(const Change& other);  ///< adds what is taken away, multiplies the factors
  Change scaled(double share) const;        ///< takes away this share of it
};

/// Predicts a changed kernel from the samples of the present one, with a closed queueing network:
/// W warps of a scheduler go round between pure delays and four units (issue slot, arithmetic pipe,
/// load/store unit, memory system), and wait at each in proportion to how busy it is. The waits
/// seen in the samples fix the parameters, so that without a change the model gives the measured
/// time. Source: approximate mean value analysis (P. Schweitzer 1979; E. Lazowska et al.,
/// "Quantitative System Performance", 1984, chapter 6).
///
/// Against equations 2 to 10 of the GPA paper it knows that stalls which go away at one place come
/// back as queues at another: for a kernel with an idle issue slot and idle units its stall
/// elimination is equation 2.
class WhatIf {
 public:
  explicit WhatIf(const KernelView& view);

  /// How many times as fast the kernel is after the change; below 1 if it gets slower.
  double speedup(const Change& change) const;

  /// The change that leaves out this share (0 to 1) of all that the kernel does, its traffic to
  /// device memory excepted.
  Change less_work(double share) const;

  double warps() const { return warps_; }  ///< W: resident per scheduler, from active and issued
  double issue_busy() const { return issue_.busy; }        ///< fractions of time, 0 to 1
  double access_demand() const { return access_.demand; }  ///< in samples, as Change counts it
  double memory_demand() const { return memory_.demand; }

  /// More sectors are requested than device memory could deliver: caches hold them until all of
  /// their bytes were used, so that better coalescing does not lessen its traffic.
  bool sectors_reused() const { return sectors_reused_; }

  /// What goes away if one instruction of a function part is not executed any more: its issue
  /// slots, its demand on units, and its own waits for arithmetic. Waits for memory stay, for the
  /// next that needs the value.
  Change without(const KernelView& view, const FunctionPart& part, uint32_t instruction) const;

 private:
  struct Tally;
  /// A unit that warps wait for.
  struct Unit {
    double demand = 0;     ///< service time for all of a warp's work, in samples
    double wait = 0;       ///< samples that wait for it now
    double busy = 0;       ///< share of the time now
    double variation = 1;  ///< the odds to find another warp there are this times those of chance
  };
  static Tally tally_of(const KernelView& view);
  static void tally_accesses(const KernelView& view, Tally& tally);
  void fit_memory(const KernelView& view, const Tally& tally);
  void fit(Unit& unit, double busy, double least_variation = 1e-6) const;
  static double wait_at(const Unit& unit, double warps, double total);
  double residence(const std::array<Unit, 4>& units, double delay, double warps) const;

  double total_ = 0, delay_ = 0, warps_ = 1;
  double block_share_ = 0;  ///< of the others of a scheduler, those of a warp's own block
  Unit issue_, math_, access_, memory_;
  size_t busiest_pipe_ = 0;
  bool sectors_reused_ = false;
  double access_scale_ = 0, memory_scale_ = 0;  ///< demand per cycle and per byte of an access
};

/// The speedup of a change with its range: as little as `least` and as much as `most` of what it
/// should take away (1 = all), widened by the sampling error of `change`'s own samples (95%). For
/// factors of warps and multiprocessors the shares apply to the gain. Nothing where the kernel has
/// too few samples.
std::optional<SpeedupRange> estimate(const KernelView& view, const WhatIf& model,
                                     const Change& change, double least, double most);

/// Waiting cycles per execution of an instruction that others wait for: stalls blamed on it per
/// issued sample of it (a warp issues for one cycle). Nothing if it was hardly seen to issue.
std::optional<double> wait_per_execution(const FunctionPart& part, uint32_t producer);

}  // namespace fathom
