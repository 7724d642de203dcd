#include "attribution/gpu_calls.h"

#include <algorithm>

namespace fathom {
namespace {

std::vector<CallSite> call_sites(const std::vector<AnalyzedFunction>& functions) {
  std::map<std::pair<std::string, std::string>, uint32_t> index;
  for (uint32_t f = 0; f < functions.size(); ++f)
    index[{functions[f].binary, functions[f].mangled}] = f;
  std::vector<CallSite> sites;
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const auto& instructions = functions[f].instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].flow != Flow::call) continue;
      auto callee = index.find({functions[f].binary, instructions[i].target_symbol});
      if (callee != index.end()) sites.push_back({f, callee->second, i});
    }
  }
  return sites;
}

double samples_at(const ProcessSamples& samples, uint32_t function, uint32_t instruction) {
  double sum = 0;
  for (auto at = samples.lower_bound({function, 0});
       at != samples.end() && at->first.function == function; ++at) {
    auto counts = at->second.find(instruction);
    if (counts != at->second.end()) sum += double(counts->second.total());
  }
  return sum;
}

}  // namespace

GpuCalls find_gpu_calls(const std::vector<AnalyzedFunction>& functions,
                        const ProcessSamples& samples) {
  GpuCalls calls;
  auto count = static_cast<uint32_t>(functions.size());
  calls.graph = CallGraph::build(count, call_sites(functions));
  const auto& sites = calls.graph.sites;
  const auto& unit = calls.graph.component;
  calls.members.resize(calls.graph.component_count);
  for (uint32_t f = 0; f < count; ++f) calls.members[unit[f]].push_back(f);
  calls.sites_of.resize(count);
  std::vector<double> unit_samples(calls.graph.component_count);
  std::vector<uint32_t> unit_sites(calls.graph.component_count);
  std::vector<double> weight(sites.size());
  for (uint32_t s = 0; s < sites.size(); ++s) {
    if (unit[sites[s].caller] == unit[sites[s].callee]) continue;
    calls.sites_of[sites[s].caller].push_back(s);
    weight[s] = samples_at(samples, sites[s].caller, sites[s].instruction);
    unit_samples[unit[sites[s].callee]] += weight[s];
    ++unit_sites[unit[sites[s].callee]];
  }
  calls.share.resize(sites.size());
  for (uint32_t f = 0; f < count; ++f)
    for (uint32_t s : calls.sites_of[f]) {
      uint32_t callee = unit[sites[s].callee];
      calls.share[s] =
          unit_samples[callee] > 0 ? weight[s] / unit_samples[callee] : 1.0 / unit_sites[callee];
    }
  calls.is_root.resize(count);
  for (uint32_t f = 0; f < count; ++f) calls.is_root[f] = unit_sites[unit[f]] == 0;
  return calls;
}

std::vector<std::map<uint32_t, double>> GpuCalls::fractions() const {
  std::vector<std::map<uint32_t, double>> result(is_root.size());
  // Callers' units have higher numbers than their callees'.
  for (uint32_t unit = graph.component_count; unit-- > 0;) {
    for (uint32_t member : members[unit])
      if (is_root[member]) result[member] = {{member, 1.0}};
    for (uint32_t member : members[unit])
      for (uint32_t s : sites_of[member]) {
        if (share[s] == 0) continue;
        for (uint32_t callee : members[graph.component[graph.sites[s].callee]])
          for (const auto& [root, fraction] : result[member])
            result[callee][root] += share[s] * fraction;
      }
  }
  return result;
}

}  // namespace fathom
