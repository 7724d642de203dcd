#include "prediction/views.h"

#include <algorithm>
#include <map>

namespace fathom {

TimeView::TimeView(const Program& program) : program_(program), by_step_(program.steps.size()) {}

void TimeView::issued(const Issue& issue) {
  by_step_[issue.step][static_cast<size_t>(issue.wait)] += issue.waited * issue.weight;
}

std::array<double, kWaits> TimeView::waits() const {
  std::array<double, kWaits> sum{};
  double all = 0;
  for (const auto& step : by_step_)
    for (size_t i = 0; i < kWaits; ++i) sum[i] += step[i], all += step[i];
  for (double& each : sum) each = all > 0 ? each / all : 0;
  return sum;
}

std::vector<LineShare> TimeView::lines() const {
  std::map<SourceLocation, std::array<double, kWaits>> by_line;
  double all = 0;
  for (uint32_t i = 0; i < by_step_.size(); ++i) {
    auto& line = by_line[program_.at(i)];
    for (size_t w = 0; w < kWaits; ++w) line[w] += by_step_[i][w], all += by_step_[i][w];
  }
  std::vector<LineShare> lines;
  for (const auto& [at, waits] : by_line) {
    double sum = 0;
    for (double each : waits) sum += each;
    if (sum <= 0 || all <= 0) continue;
    const auto most = std::max_element(waits.begin(), waits.end());
    const auto wait = static_cast<Wait>(most - waits.begin());
    lines.push_back({at, sum / all, wait == Wait::none ? "" : name_of(wait)});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const LineShare& a, const LineShare& b) { return a.share > b.share; });
  return lines;
}

std::vector<ResourceUse> resource_use(const Simulation& simulation, uint32_t schedulers) {
  const double cycles = std::max(1.0, simulation.simulated);
  std::vector<ResourceUse> uses{
      {"instruction issue", simulation.busy.issue / cycles / schedulers},
      {"L2 bandwidth", simulation.busy.l2 / cycles},
      {"device memory bandwidth", simulation.busy.dram / cycles},
      {"atomic operations", simulation.busy.atomics / cycles},
      {"constant cache misses", simulation.busy.constants / cycles / schedulers}};
  for (size_t i = 1; i < kPipes; ++i) {
    const auto pipe = static_cast<Pipe>(i);
    double share = simulation.busy.pipes[i] / cycles / (pipe == Pipe::memory ? 1 : schedulers);
    // Two halves take its work.
    if (pipe == Pipe::fma)
      share = (share +
               simulation.busy.pipes[static_cast<size_t>(Pipe::fma_heavy)] / cycles / schedulers) /
              2;
    uses.push_back({name_of(pipe), std::min(1.0, share)});
  }
  for (ResourceUse& each : uses) each.share = std::min(1.0, each.share);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const ResourceUse& a, const ResourceUse& b) { return a.share > b.share; });
  return uses;
}

std::string bound_by(const std::vector<ResourceUse>& resources,
                     const std::array<double, kWaits>& waits) {
  if (resources.front().share >= 0.6) return resources.front().name;
  size_t most = static_cast<size_t>(Wait::dependency);
  for (size_t i = most; i < kWaits; ++i)
    if (waits[i] > waits[most] && static_cast<Wait>(i) != Wait::scheduler) most = i;
  return std::string("latency: waiting for ") + name_of(static_cast<Wait>(most));
}

}  // namespace fathom
