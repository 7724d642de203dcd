#pragma once
// What is made of a simulation's events.

#include <vector>

#include "prediction/predict.h"

namespace fathom {

/// Where the warps' time goes, by line and by what was waited for.
class TimeView : public SimulationListener {
 public:
  explicit TimeView(const Program& program);
  void issued(const Issue& issue) override;

  std::vector<LineShare> lines() const;
  /// Shares of the warps' time, by Wait.
  std::array<double, kWaits> waits() const;

 private:
  const Program& program_;
  std::vector<std::array<double, kWaits>> by_step_;
};

/// Busy shares of the resources in a simulation, busiest first.
std::vector<ResourceUse> resource_use(const Simulation& simulation, uint32_t schedulers);
/// "device memory bandwidth", "multiply-add unit", "latency of device memory"...
std::string bound_by(const std::vector<ResourceUse>& resources,
                     const std::array<double, kWaits>& waits);

}  // namespace fathom
