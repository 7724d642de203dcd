#include "flow/call_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "flow/components.h"

namespace fathom {

CallGraph CallGraph::build(uint32_t function_count, std::vector<CallSite> sites) {
  CallGraph graph;
  std::erase_if(sites, [&](const CallSite& site) {
    return site.caller >= function_count || site.callee >= function_count;
  });
  std::sort(sites.begin(), sites.end(), [](const CallSite& a, const CallSite& b) {
    return std::tie(a.caller, a.instruction, a.callee) <
           std::tie(b.caller, b.instruction, b.callee);
  });

  std::vector<uint32_t> callees;
  std::vector<size_t> first(size_t(function_count) + 1, 0);
  for (const CallSite& site : sites) {
    callees.push_back(site.callee);
    ++first[site.caller + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());

  std::vector<uint32_t> functions(function_count);
  std::iota(functions.begin(), functions.end(), 0u);
  const auto components = ComponentSearch(function_count)
                              .run(
                                  functions,
                                  [&](uint32_t function) {
                                    return std::span<const uint32_t>(callees).subspan(
                                        first[function], first[function + 1] - first[function]);
                                  },
                                  [](uint32_t, uint32_t) { return true; });
  graph.component.resize(function_count);
  for (const auto& members : components) {
    for (uint32_t function : members) graph.component[function] = graph.component_count;
    ++graph.component_count;
  }
  graph.sites = std::move(sites);
  return graph;
}

bool CallGraph::recursive(uint32_t function) const {
  if (std::count(component.begin(), component.end(), component[function]) > 1) return true;
  return std::any_of(sites.begin(), sites.end(), [&](const CallSite& site) {
    return site.caller == function && site.callee == function;
  });
}

}  // namespace fathom
