#pragma once
// A prediction beside what was measured: by how much they differ, on which lines, and why.

#include <string_view>

#include "model/measured_launches.h"
#include "prediction/predict.h"

namespace fathom {

/// What warps do or wait for, in terms that samples and simulation share.
enum class WarpState : uint8_t {
  issuing,
  scheduler,  ///< ready, but another warp was chosen
  fixed_latency,
  memory,      ///< data from global or local memory
  short_wait,  ///< shared memory, special functions
  unit,
  queue,
  barrier,
  fetch,  ///< instructions and constants
  other
};
inline constexpr size_t kWarpStates = 10;
std::string_view name_of(WarpState state);
WarpState state_of(StallReason reason);
WarpState state_of(Wait wait);

/// A line's part of the difference: share x time, measured less predicted. The parts of all lines
/// add up to the whole difference.
struct LineGap {
  SourceLocation at;
  double measured_share = 0, predicted_share = 0;  ///< of the warps' time
  double gap_us = 0;
  std::string measured_waits_for, predicted_waits_for;
};
/// The same by what the warps did.
struct StateGap {
  WarpState state = WarpState::other;
  double measured_share = 0, predicted_share = 0;
  double gap_us = 0;
};

/// How the measurement is, seen from the prediction. Unknown: an argument on which the prediction
/// rests was guessed, and it shows.
enum class Verdict : uint8_t { agrees, slower, faster, unknown };
std::string_view name_of(Verdict verdict);

struct Comparison {
  /// On the GPU, as recorded times are: without what the host needs to launch.
  double predicted_us = 0;
  double ratio = 0;  ///< predicted / measured (median); 0: nothing measured
  Verdict verdict = Verdict::agrees;
  /// The least time that the busiest unit or memory needs (the roofline): how far the kernel itself
  /// is from what the device could do, where the prediction agrees.
  double limit_us = 0;
  std::vector<LineGap> lines;    ///< largest gap first; empty without samples
  std::vector<StateGap> states;  ///< the same; empty without samples or simulation
  std::vector<Finding> differs;  ///< where and why, most important first
};

/// Predictions this near to the measurement agree with it: half of the kernels of
/// docs/prediction-accuracy.md are within 14%, and most within a quarter.
inline constexpr double kAgreement = 0.25;

/// `device` are the facts of the device that was measured. `arguments_decide`: some were guessed,
/// and with others the prediction would be another.
Comparison compare(const KernelPrediction& prediction, const MeasuredLaunches& measured,
                   const DeviceFacts& device, const MachineModel& machine, bool arguments_decide);

}  // namespace fathom
