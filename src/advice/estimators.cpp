#include "advice/estimators.h"

#include <algorithm>
#include <cmath>

namespace fathom {
namespace {

/// No estimate promises more than this: the rest of the kernel is never nothing.
constexpr double kLeastRest = 0.01;

double remaining(double total, double removed) {
  if (total <= 0) return 1;
  return std::max(kLeastRest, (total - std::max(0.0, removed)) / total);
}

}  // namespace

double stall_elimination(double total, double matched) {
  return 1 / remaining(total, matched);
}

double latency_hiding(double total, double active_in_scope, double matched_latency) {
  return 1 / remaining(total, std::min(active_in_scope, matched_latency));
}

std::optional<SpeedupRange> with_sampling_error(double total, double matched,
                                                const std::function<double(double)>& estimate) {
  if (total < kFewestSamples) return std::nullopt;
  // The number matched is binomial: its standard deviation is sqrt(n p (1 - p)).
  double p = std::clamp(matched / total, 0.0, 1.0);
  double error = 1.96 * std::sqrt(total * p * (1 - p));
  SpeedupRange range{estimate(std::max(0.0, matched - error)), estimate(matched),
                     estimate(std::min(total, matched + error))};
  return range;
}

SpeedupRange of_whole(const SpeedupRange& part, double share) {
  share = std::clamp(share, 0.0, 1.0);
  auto whole = [&](double speedup) { return 1 / (1 - share + share / speedup); };
  return {whole(part.low), whole(part.mid), whole(part.high)};
}

}  // namespace fathom
