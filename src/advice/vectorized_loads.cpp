// Vectorized loads: one 16-byte load instead of four of 4 bytes takes a quarter of the instructions
// and of the places in the queue for memory. Two shapes: a thread loads adjacent values one by one,
// or neighbouring threads stream through arrays value by value.

#include "advice/vectorized_loads.h"

#include <algorithm>

#include "advice/coalescing.h"
#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

constexpr uint32_t kWidest = 16;  ///< bytes of one access of one thread

bool is_narrow(const Instruction& instruction) {
  bool kind = instruction.op_class == OpClass::load || instruction.is_store();
  return kind && instruction.space == MemorySpace::global && instruction.guard.always &&
         instruction.access_bytes > 0 && instruction.access_bytes <= kWidest / 2;
}

/// Loads of one block with the same address registers, which nothing in between writes.
using ByAddress = std::map<std::string, std::vector<std::pair<int64_t, uint32_t>>>;

void close_runs(const FunctionPart& part, std::vector<std::pair<int64_t, uint32_t>>& loads,
                std::vector<AdjacentLoads>& result) {
  std::sort(loads.begin(), loads.end());
  AdjacentLoads run{&part, {}, 0};
  int64_t end = 0;
  auto close = [&] {
    if (run.instructions.size() >= 2 && run.bytes >= 8) result.push_back(run);
    run = {&part, {}, 0};
  };
  for (const auto& [offset, i] : loads) {
    if (!run.instructions.empty() && offset != end) close();
    run.instructions.push_back(i);
    run.bytes += part.function->instructions[i].access_bytes;
    end = offset + part.function->instructions[i].access_bytes;
  }
  close();
  loads.clear();
}

void find_in_block(const FunctionPart& part, const Block& block,
                   std::vector<AdjacentLoads>& result) {
  ByAddress open;
  for (uint32_t i = block.first; i <= block.last; ++i) {
    const Instruction& instruction = part.function->instructions[i];
    if (is_narrow(instruction)) {
      SplitAddress address = split_address(instruction);
      std::string kind = instruction.is_store() ? "store " : "load ";
      open[kind + address.registers].push_back({address.offset, i});
    }
    for (auto& [registers, loads] : open)
      for (Register reg : instruction.defs)
        if (registers.find(to_string(reg) + "+") != std::string::npos && !loads.empty())
          close_runs(part, loads, result);
  }
  for (auto& [registers, loads] : open) close_runs(part, loads, result);
}

uint32_t wide_loads(const AdjacentLoads& run) {
  return std::max(1u, (run.bytes + kWidest - 1) / kWidest);
}

}  // namespace

std::vector<AdjacentLoads> adjacent_loads(const KernelView& view) {
  std::vector<AdjacentLoads> result;
  for (const FunctionPart& part : view.parts())
    for (const Block& block : part.function->graph.blocks) find_in_block(part, block, result);
  return result;
}

namespace {

struct Match {
  Hotspots hotspots;
  Change change;
  double narrow = 0, wide = 0;  ///< issued samples of the loads now, and after the change
};

class VectorizedLoads : public Optimizer {
 public:
  std::string_view kind() const override { return "vectorized-loads"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Coalescing coalescing = coalescing_of(view);
    const WhatIf& model = view.model();
    Match adjacent = match_adjacent(view, model, coalescing);
    if (!adjacent.hotspots.empty()) return {describe_adjacent(view, model, adjacent)};
    if (coalescing.access_excess >= kSpreadDominates || !is_limited(view, model)) return {};
    Match streams = match_streams(view, model);
    constexpr double kLeastShare = 0.05;  // of what is issued
    if (streams.hotspots.empty() || streams.narrow < kLeastShare * view.issued()) return {};
    return {describe_streams(view, model, streams)};
  }

 private:
  /// Issue slots or the queue for memory requests keep the kernel from being faster.
  static bool is_limited(const KernelView& view, const WhatIf& model) {
    double throttled = 0;
    for (const FunctionPart& part : view.parts())
      for (const StallCounts& samples : part.function->samples)
        throttled += part.fraction * double(samples.all[size_t(StallReason::lg_throttle)]);
    return model.issue_busy() > 0.6 || throttled > 0.1 * view.total();
  }

  /// `instruction` is executed this share less often; as many bytes move as before.
  static void replace(const KernelView& view, const WhatIf& model, const FunctionPart& part,
                      uint32_t instruction, double share, bool spread, Match& match) {
    const StallCounts& samples = part.function->samples[instruction];
    double issued = part.fraction * double(samples.issued());
    Change gone = model.without(view, part, instruction).scaled(share);
    // Narrow accesses of spread lanes bring L2 parts of sectors, which it merges at some cost.
    gone.memory *= spread ? 0.12 : 0;
    if (!spread) gone.access /= 2;  // the same sectors in fewer requests
    gone.delay += share * part.fraction * double(samples.all[size_t(StallReason::lg_throttle)]) / 2;
    match.change += gone;
    match.narrow += issued;
    match.wide += issued * (1 - share);
    match.hotspots.add_own(view, part, instruction, double(samples.total()));
  }

  /// Each request touches more sectors than its bytes need, which a wide one would use all.
  static bool is_spread(const KernelView& view, const FunctionPart& part, uint32_t instruction) {
    const std::vector<LaneAccess>& accesses = view.accesses(part);
    auto access = std::lower_bound(
        accesses.begin(), accesses.end(), instruction,
        [](const LaneAccess& a, uint32_t wanted) { return a.instruction < wanted; });
    return access != accesses.end() && access->instruction == instruction &&
           is_uncoalesced(part.function->instructions[instruction], *access);
  }

  static Match match_adjacent(const KernelView& view, const WhatIf& model,
                              const Coalescing& coalescing) {
    Match match;
    for (const AdjacentLoads& run : adjacent_loads(view)) {
      double share = 1 - double(wide_loads(run)) / double(run.instructions.size());
      for (uint32_t i : run.instructions)
        if (!coalescing.is_cause(*run.part, i))
          replace(view, model, *run.part, i, share, is_spread(view, *run.part, i), match);
    }
    return match;
  }

  static Match match_streams(const KernelView& view, const WhatIf& model) {
    Match match;
    for (const FunctionPart& part : view.parts())
      for (const LaneAccess& access : view.accesses(part)) {
        const Instruction& instruction = part.function->instructions[access.instruction];
        bool streams = access.space == MemorySpace::global && access.bytes <= kWidest / 2 &&
                       access.pattern == LanePattern::strided &&
                       access.stride == int64_t(access.bytes) && is_narrow(instruction);
        if (streams)
          replace(view, model, part, access.instruction, 1 - access.bytes / double(kWidest), false,
                  match);
      }
    return match;
  }

  static Finding describe(const KernelView& view, const WhatIf& model, const Match& match) {
    Finding finding;
    finding.location = match.hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : match.hotspots.sorted()) {
      if (finding.related.size() == 4) break;
      finding.related.push_back({"narrow access", spot.cause, spot.cause_text});
    }
    finding.evidence = sample_evidence(view, match.hotspots.stalls());
    finding.evidence.push_back({"narrow accesses issued", match.narrow, "samples"});
    finding.evidence.push_back({"wide accesses instead", match.wide, "samples"});
    finding.evidence.push_back({"issue slots in use", model.issue_busy(), "fraction"});
    finding.speedup = estimate(view, model, match.change, 0.3, 1.8);
    return finding;
  }

  static Finding describe_adjacent(const KernelView& view, const WhatIf& model,
                                   const Match& match) {
    Finding finding = describe(view, model, match);
    finding.fix = "wide-load";
    finding.title = "Adjacent values are loaded one by one";
    finding.text = format(
        "A thread loads values that lie next to each other with one instruction each. %.0f%% of "
        "the kernel's samples are on these loads. A load of 16 bytes brings four of them at once "
        "and takes one place in the queue for memory.",
        100 * match.hotspots.stalls() / view.total());
    finding.suggestions = {
        "load a float4, int4 or double2 through a pointer of that type: "
        "reinterpret_cast<const float4*>(p)[i]",
        "give the structure alignment: struct alignas(16)",
        "let the compiler see that addresses are aligned: __builtin_assume_aligned(p, 16)"};
    finding.assumptions = {"the addresses are multiples of 16 bytes, or can be made so",
                           "the memory moves as many bytes as before"};
    return finding;
  }

  static Finding describe_streams(const KernelView& view, const WhatIf& model, const Match& match) {
    Finding finding = describe(view, model, match);
    finding.fix = "vector-stream";
    finding.title = "Arrays are streamed through with narrow loads and stores";
    finding.text = format(
        "Neighbouring threads access neighbouring values of a few bytes. The issue slots are in "
        "use for %.0f%% of the time, or the queue for memory requests is full: with four values "
        "for each thread there are a quarter of the instructions for the same bytes.",
        100 * model.issue_busy());
    finding.suggestions = {
        "process four neighbouring elements in each thread: load and store float4 or int4, and "
        "handle the remainder apart",
        "for 1- and 2-byte elements load a uint4 and take it apart in registers"};
    finding.assumptions = {"arrays begin at multiples of 16 bytes",
                           "index arithmetic shrinks with the number of loads"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_vectorized_loads() {
  return std::make_unique<VectorizedLoads>();
}

}  // namespace fathom
