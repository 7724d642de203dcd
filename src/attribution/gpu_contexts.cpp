#include "attribution/gpu_contexts.h"

#include <algorithm>

namespace fathom {

GpuContexts::GpuContexts(const Attribution& attribution, const ProcessSamples& samples,
                         const GpuCalls& calls, double cycles_per_sample, ContextTree& tree,
                         MetricTable& metrics)
    : attribution_(attribution),
      samples_(samples),
      calls_(calls),
      cycles_per_sample_(cycles_per_sample),
      tree_(tree),
      metrics_(metrics) {}

uint32_t GpuContexts::function_node(uint32_t parent, uint32_t function) {
  const GpuFunctionFacts& facts = attribution_.profile.functions[function];
  Context context{parent, ContextKind::gpu_function, facts.name, facts.binary, {}, 0, function};
  return tree_.child(std::move(context));
}

void GpuContexts::add_shared(uint32_t node, uint32_t function, double fraction) {
  // Beyond this many instances, deeper calls are not told apart by their callers any more.
  constexpr size_t kMostInstances = 20000;
  std::vector<Work> work{{node, function, fraction}};
  for (size_t at = 0; at < work.size(); ++at) {
    Work current = work[at];
    add_instructions(current.node, current.function, total_of(current.function), current.fraction);
    for (uint32_t s : calls_.sites_of[current.function]) {
      if (calls_.share[s] == 0) continue;
      const CallSite& site = calls_.graph.sites[s];
      uint32_t parent = work.size() < kMostInstances
                            ? scope_of(current.node, site.caller, site.instruction)
                            : node;
      uint32_t unit = calls_.graph.component[site.callee];
      if (calls_.members[unit].size() > 1)
        parent = tree_.child(
            {parent, ContextKind::gpu_scc, "<mutually recursive functions>", "", {}, unit, kNoId});
      for (uint32_t member : calls_.members[unit])
        work.push_back({function_node(parent, member), member, current.fraction * calls_.share[s]});
    }
  }
}

void GpuContexts::add_exact(uint32_t node, uint32_t function, uint32_t correlation) {
  std::vector<bool> seen(attribution_.functions.size());
  std::vector<std::pair<uint32_t, uint32_t>> work{{node, function}};
  seen[function] = true;
  for (size_t at = 0; at < work.size(); ++at) {
    auto [parent, current] = work[at];
    add_instructions(parent, current, counts_of(current, correlation, false), 1);
    // One launch's samples of a device function stay together, below its first caller.
    for (uint32_t s : calls_.sites_of[current]) {
      const CallSite& site = calls_.graph.sites[s];
      for (uint32_t member : calls_.members[calls_.graph.component[site.callee]]) {
        if (seen[member]) continue;
        seen[member] = true;
        work.push_back(
            {function_node(scope_of(parent, current, site.instruction), member), member});
      }
    }
  }
}

void GpuContexts::add_unclaimed(uint32_t parent) {
  for (const auto& [key, by_instruction] : samples_) {
    if (claimed_.count(key)) continue;
    uint32_t launch =
        tree_.child({parent, ContextKind::gpu_operation, "<gpu kernel>", "", {}, 0, kNoId});
    add_instructions(function_node(launch, key.function), key.function,
                     counts_of(key.function, key.correlation, false), 1);
  }
}

GpuContexts::Counts GpuContexts::counts_of(uint32_t function, uint32_t correlation,
                                           bool any_correlation) {
  Counts counts;
  const TopDownMapper& mapper =
      mappers_.try_emplace(function, attribution_.functions[function]).first->second;
  for (auto at = samples_.lower_bound({function, any_correlation ? 0 : correlation});
       at != samples_.end() && at->first.function == function; ++at) {
    if (!any_correlation && at->first.correlation != correlation) break;
    claimed_.insert(at->first);
    for (const auto& [instruction, stalls] : at->second)
      counts[instruction] += mapper.map(instruction, stalls);
  }
  return counts;
}

const GpuContexts::Counts& GpuContexts::total_of(uint32_t function) {
  auto [entry, is_new] = totals_.try_emplace(function);
  if (is_new) entry->second = counts_of(function, 0, true);
  return entry->second;
}

void GpuContexts::add_instructions(uint32_t node, uint32_t function, const Counts& counts,
                                   double fraction) {
  for (const auto& [instruction, topdown] : counts) {
    uint32_t scope = scope_of(node, function, instruction);
    metrics_.add(scope, "GSAMP:TOT", topdown.inclusive()[TopDown::cycles] * fraction);
    for (size_t t = 0; t < kTopDownCount; ++t)
      metrics_.add(scope, std::string(topdown_nodes()[t].metric),
                   topdown.own[t] * fraction * cycles_per_sample_);
  }
}

namespace {

size_t common_prefix(const std::vector<InlineFrame>& a, const std::vector<InlineFrame>& b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n].function == b[n].function && a[n].call == b[n].call)
    ++n;
  return n;
}

}  // namespace

uint32_t GpuContexts::scope_of(uint32_t node, uint32_t function, uint32_t instruction) {
  const AnalyzedFunction& analyzed = attribution_.functions[function];
  const Profile& profile = attribution_.profile;
  const InstructionFacts& facts = profile.instructions[analyzed.first_instruction + instruction];
  std::vector<uint32_t> loops;  // innermost first
  for (uint32_t loop = facts.loop; loop != kNoId; loop = profile.loops[loop].parent)
    loops.push_back(loop);
  size_t depth = 0;
  auto enter_inlined = [&](size_t until) {
    for (; depth < until; ++depth) {
      const InlineFrame& frame = facts.inlined[depth];
      node = tree_.child(
          {node, ContextKind::gpu_inlined, frame.function, "", frame.call, 0, function});
    }
  };
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    // A loop lies inside those inlined functions that its header was inlined with.
    uint32_t header =
        analyzed.graph.blocks[analyzed.loops.loops[*loop - analyzed.first_loop].header].first;
    const InstructionFacts& at = profile.instructions[analyzed.first_instruction + header];
    enter_inlined(std::max(depth, common_prefix(at.inlined, facts.inlined)));
    const LoopFacts& loop_facts = profile.loops[*loop];
    node = tree_.child({node, ContextKind::gpu_loop, "loop", "", loop_facts.at,
                        loop_facts.first_offset, function});
  }
  enter_inlined(facts.inlined.size());
  return tree_.child(
      {node, ContextKind::gpu_line, file_name(facts.at.file), "", facts.at, 0, function});
}

}  // namespace fathom
