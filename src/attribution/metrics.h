#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom {

/// Every metric that an analysis of GPU operations and samples can yield, in the order of
/// HPCToolkit's manual (tables 9.6 to 9.11, 9.17 and figure 9.8). Parents come before children.
std::vector<Metric> gpu_metrics();

/// Values by context and metric, while a context tree grows.
class MetricTable {
 public:
  MetricTable();
  void add(uint32_t context, const std::string& metric, double value);
  /// Inclusive values from exclusive ones, parents from children, averages from sums. Metrics
  /// without any value are left out of the profile.
  void store(Profile& profile) const;

 private:
  using Sums = std::map<std::pair<uint32_t, uint32_t>, std::pair<double, double>>;
  Sums sums(const std::vector<Context>& contexts) const;
  std::vector<MetricValue> values_of(const Sums& table) const;

  std::vector<Metric> metrics_;
  std::map<std::string, uint32_t> index_;
  std::map<std::pair<uint32_t, uint32_t>, double> values_;
};

}  // namespace fathom
