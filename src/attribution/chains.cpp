#include "attribution/chains.h"

#include <algorithm>
#include <set>

namespace fathom {
namespace {

constexpr double kLeastOfFirst = 0.1;
constexpr size_t kLongest = 6;

/// The edge into `consumer` with most stalls, from another instruction.
const Blame* heaviest_into(const AnalyzedFunction& function, uint32_t consumer) {
  auto first = std::lower_bound(function.blame.begin(), function.blame.end(), consumer,
                                [](const Blame& edge, uint32_t c) { return edge.consumer < c; });
  const Blame* heaviest = nullptr;
  for (auto edge = first; edge != function.blame.end() && edge->consumer == consumer; ++edge)
    if (edge->producer != consumer && (!heaviest || edge->stalls > heaviest->stalls))
      heaviest = &*edge;
  return heaviest;
}

}  // namespace

std::vector<uint32_t> chain_behind(const AnalyzedFunction& function, uint32_t producer,
                                   double stalls) {
  std::vector<uint32_t> chain;
  std::set<uint32_t> seen{producer};
  while (chain.size() < kLongest) {
    const Blame* edge = heaviest_into(function, chain.empty() ? producer : chain.back());
    if (!edge || edge->stalls < kLeastOfFirst * stalls || !seen.insert(edge->producer).second)
      break;
    chain.push_back(edge->producer);
  }
  return chain;
}

}  // namespace fathom
