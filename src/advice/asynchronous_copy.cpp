// Global memory to shared memory through a register: the load is waited for only to store its
// value. Asynchronous copies (LDGSTS; bulk copies by TMA from Hopper on) need no register and no
// waiting thread, so that the next tile travels while this one is worked on.

#include <algorithm>
#include <set>

#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "attribution/register_queries.h"
#include "base/text.h"

namespace fathom {
namespace {

bool is_shared_store(const Instruction& instruction) {
  return instruction.base_opcode() == "STS";
}

/// LDGSTS copies 4, 8 or 16 bytes.
bool can_copy(const Instruction& load) {
  return load.access_bytes == 4 || load.access_bytes == 8 || load.access_bytes == 16;
}

std::set<uint32_t> copied_loads(const AnalyzedFunction& function) {
  std::set<uint32_t> loads = loads_for_shared_memory(function);
  std::erase_if(loads, [&](uint32_t load) { return !can_copy(function.instructions[load]); });
  return loads;
}

struct Match {
  Hotspots hotspots;
  Change change;
  uint32_t copies = 0, bytes = 0;
};

/// What a thread does in one scope: waits for copies, and everything else.
struct Scope {
  double waits = 0, rest = 0;
};

/// The barriers at which a block waits until all of its copies are there: those next behind a
/// store.
std::set<uint32_t> barriers_behind(const AnalyzedFunction& function,
                                   const std::set<uint32_t>& stores) {
  std::set<uint32_t> barriers;
  for (uint32_t i : stores) {
    while (i < function.instructions.size() && function.instructions[i].base_opcode() != "BAR") ++i;
    if (i < function.instructions.size()) barriers.insert(i);
  }
  return barriers;
}

double samples_in(const FunctionPart& part, uint32_t loop) {
  const AnalyzedFunction& function = *part.function;
  double samples = 0;
  for (uint32_t i = 0; i < function.instructions.size(); ++i)
    if (function.loops.contains(loop, function.graph.block_of[i]))
      samples += part.fraction * double(function.samples[i].total());
  return samples;
}

/// Waits by the loops in which they occur.
std::map<uint32_t, Scope> match_waits(const KernelView& view, const FunctionPart& part,
                                      const std::set<uint32_t>& loads,
                                      const std::set<uint32_t>& barriers, Hotspots& hotspots) {
  const AnalyzedFunction& function = *part.function;
  std::map<uint32_t, Scope> scopes;
  for (const Blame& edge : function.blame) {
    bool copied = loads.count(edge.producer) && edge.producer != edge.consumer &&
                  edge.kind != StallClass::write_after_read;
    if (copied) hotspots.add(view, part, edge);
    // Who has its tile already waits at the barrier for the others' copies.
    bool meets = edge.reason == StallReason::barrier && barriers.count(edge.producer);
    if (copied || meets)
      scopes[common_loop(function, edge.producer, edge.consumer)].waits +=
          part.fraction * edge.stalls;
  }
  for (auto& [loop, scope] : scopes)
    if (loop != kNoBlock) scope.rest = std::max(0.0, samples_in(part, loop) - scope.waits);
  return scopes;
}

/// The stores to shared memory are not executed any more, and nobody waits until they have read the
/// registers that hold the values. The copies write as many bytes to shared memory as before.
Change without_stores(const KernelView& view, const FunctionPart& part,
                      const std::set<uint32_t>& stores) {
  Change change;
  for (uint32_t store : stores) change += view.model().without(view, part, store);
  for (const Blame& edge : part.function->blame)
    if (stores.count(edge.producer) &&
        (edge.kind == StallClass::write_after_read || edge.kind == StallClass::throttle))
      change.delay += part.fraction * edge.stalls;
  change.access = 0;
  return change;
}

void match_part(const KernelView& view, const FunctionPart& part, Match& match) {
  const AnalyzedFunction& function = *part.function;
  bool any =
      std::any_of(function.instructions.begin(), function.instructions.end(), is_shared_store);
  if (!any) return;
  std::set<uint32_t> loads = copied_loads(function);
  if (loads.empty()) return;
  std::set<uint32_t> stores = shared_stores_of(function, loads);
  std::set<uint32_t> barriers = barriers_behind(function, stores);
  for (const auto& [loop, scope] : match_waits(view, part, loads, barriers, match.hotspots)) {
    // A tile arrives while the thread works on another one. Outside of loops only other copies of
    // the same thread can overlap.
    double hidden = loop == kNoBlock ? scope.waits * 0.2 : std::min(scope.waits, scope.rest);
    match.change.delay += hidden;
    if (loop != kNoBlock && !barriers.empty()) match.change.together += hidden;
  }
  match.change += without_stores(view, part, stores);
  for (uint32_t load : loads) {
    ++match.copies;
    match.bytes += function.instructions[load].access_bytes;
  }
}

class AsynchronousCopy : public Optimizer {
 public:
  std::string_view kind() const override { return "asynchronous-copy"; }

  std::vector<Finding> match(const KernelView& view) const override {
    if (compute_of(view) < 80) return {};
    Match match;
    for (const FunctionPart& part : view.parts()) match_part(view, part, match);
    if (match.hotspots.empty()) return {};
    return {describe(view, match)};
  }

 private:
  static int compute_of(const KernelView& view) {
    const std::string& arch = view.machine().arch;
    return starts_with(arch, "sm_") ? std::atoi(arch.c_str() + 3) : 0;
  }

  static Finding describe(const KernelView& view, const Match& match) {
    constexpr uint32_t kLargeTile = 4;  // copies of one thread
    bool bulk = compute_of(view) >= 90 && match.copies >= kLargeTile;
    Finding finding;
    finding.fix = bulk ? "bulk-copy" : "cp-async";
    finding.location = match.hotspots.hottest_cause();
    finding.related = related_of(match.hotspots, 3);
    finding.evidence = sample_evidence(view, match.hotspots.stalls());
    finding.evidence.push_back({"copies in the code of a thread", double(match.copies), "loads"});
    finding.evidence.push_back({"bytes that a thread copies", double(match.bytes), "bytes"});
    finding.evidence.push_back({"samples that other work can hide", match.change.delay, "samples"});
    finding.speedup = estimate(view, view.model(), match.change, 0.3, 1.8);
    finding.title = "Tiles reach shared memory through registers";
    finding.text = format(
        "%.0f%% of the kernel's samples wait for loads from global memory whose values are only "
        "stored to shared memory. An asynchronous copy goes there directly: no register holds the "
        "value and no thread waits for it, so that the next tile can be on its way while this one "
        "is worked on.",
        100 * match.hotspots.stalls() / view.total());
    finding.suggestions = {
        "copy with cuda::memcpy_async or __pipeline_memcpy_async, and wait just before the use",
        "keep two or more tiles in shared memory, and start the copy of the next before the work "
        "on this one",
        "copy 16 bytes for each thread and instruction"};
    std::string tma =
        "copy whole rows or tiles with one thread: bulk copies by TMA "
        "(cuda::device::experimental::cp_async_bulk_global_to_shared, cuTensorMap) that signal a "
        "cuda::barrier";
    if (bulk) finding.suggestions.insert(finding.suggestions.begin(), tma);
    finding.assumptions = {"shared memory has room for a second tile",
                           "work on one tile can go on while the next one arrives"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_asynchronous_copy() {
  return std::make_unique<AsynchronousCopy>();
}

}  // namespace fathom
