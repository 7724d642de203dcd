#include "attribution/loop_dependences.h"

#include <algorithm>

#include "flow/slices.h"

namespace fathom {

LoopDependences::LoopDependences(const AnalyzedFunction& function, uint32_t loop)
    : function_(function) {
  for (uint32_t block : function.loops.loops[loop].blocks)
    for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
         ++i)
      members_.push_back(i);
  std::set<uint32_t> inside(members_.begin(), members_.end());
  Slicer slicer(function.instructions, function.graph);
  for (uint32_t i : members_)
    for (const Dependency& d : slicer.dependencies_of(i)) {
      if (d.through.file == RegisterFile::barrier || !inside.count(d.def)) continue;
      users_[d.def].push_back(i);
      sources_[i].push_back(d.def);
    }
}

/// All that the edges lead to, around the loop too; `from` itself only over a cycle.
std::set<uint32_t> LoopDependences::reach(const Edges& edges, uint32_t from) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> work{from};
  while (!work.empty()) {
    auto next = edges.find(work.back());
    work.pop_back();
    if (next == edges.end()) continue;
    for (uint32_t n : next->second)
      if (seen.insert(n).second) work.push_back(n);
  }
  return seen;
}

bool LoopDependences::is_recurrent(uint32_t instruction) const {
  return reach(users_, instruction).count(instruction) > 0;
}

double LoopDependences::independent_work(uint32_t load) const {
  std::set<uint32_t> before = reach(sources_, load);
  std::set<uint32_t> inside(members_.begin(), members_.end());
  double work = 0;
  for (uint32_t i : members_)
    if (i != load && !before.count(i)) work += double(function_.samples[i].total());
  for (const Blame& edge : function_.blame)
    if (edge.reason == StallReason::long_scoreboard && inside.count(edge.consumer) &&
        !before.count(edge.consumer))
      work -= edge.stalls;
  return std::max(0.0, work);
}

}  // namespace fathom
