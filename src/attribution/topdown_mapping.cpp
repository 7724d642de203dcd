#include "attribution/topdown_mapping.h"

namespace fathom {
namespace {

/// The place of an exposed stall, for reasons whose place depends neither on producers nor on the
/// instruction.
TopDown place_of(StallReason reason, const Instruction& instruction) {
  switch (reason) {
    case StallReason::selected:
      return TopDown::issues;
    case StallReason::not_selected:
      return TopDown::not_selected;
    case StallReason::long_scoreboard:
      return TopDown::global_memory;
    case StallReason::short_scoreboard:
    case StallReason::wait:
      return TopDown::instruction_dependence;
    case StallReason::math_pipe_throttle:
    case StallReason::dispatch_stall:
      return TopDown::pipeline;
    case StallReason::lg_throttle:
      return TopDown::flat_request;
    case StallReason::mio_throttle:
      return instruction.is_memory() ? TopDown::lds_request : TopDown::pipeline;
    case StallReason::tex_throttle:
      return TopDown::texture_request;
    case StallReason::imc_miss:
      return TopDown::constant_memory;
    case StallReason::no_instructions:
      return TopDown::instruction_fetch;
    case StallReason::branch_resolving:
      return TopDown::branch_unit;
    case StallReason::barrier:
    case StallReason::membar:
    case StallReason::warpgroup_arrive:
      return TopDown::synchronization;
    case StallReason::drain:
      return TopDown::global_memory;
    case StallReason::sleeping:
      return TopDown::sleep;
    case StallReason::misc:
      return TopDown::other;
  }
  return TopDown::other;
}

}  // namespace

TopDownMapper::TopDownMapper(const AnalyzedFunction& function)
    : function_(function),
      special_(function.instructions.size()),
      shared_(function.instructions.size()) {
  std::vector<double> long_sum(special_.size()), long_texture(special_.size());
  std::vector<double> short_sum(special_.size()), short_memory(special_.size());
  for (const Blame& edge : function.blame) {
    if (edge.producer == edge.consumer) continue;
    const Instruction& producer = function.instructions[edge.producer];
    if (edge.reason == StallReason::long_scoreboard) {
      long_sum[edge.consumer] += edge.stalls;
      if (producer.op_class == OpClass::texture) long_texture[edge.consumer] += edge.stalls;
    } else if (edge.reason == StallReason::short_scoreboard) {
      short_sum[edge.consumer] += edge.stalls;
      if (producer.is_memory()) short_memory[edge.consumer] += edge.stalls;
    }
  }
  for (size_t i = 0; i < special_.size(); ++i) {
    if (long_sum[i] > 0) special_[i] = float(long_texture[i] / long_sum[i]);
    if (short_sum[i] > 0) shared_[i] = float(short_memory[i] / short_sum[i]);
  }
}

TopDownCounts TopDownMapper::map(uint32_t instruction, const StallCounts& counts) const {
  TopDownCounts result;
  for (size_t r = 0; r < kStallReasonCount; ++r) {
    if (counts.all[r] == 0) continue;
    auto reason = static_cast<StallReason>(r);
    TopDown place = place_of(reason, function_.instructions[instruction]);
    if (reason == StallReason::selected || reason == StallReason::not_selected) {
      result[place] += double(counts.all[r]);
      continue;
    }
    double exposed = double(counts.latency[r]);
    result[TopDown::other_hidden] += double(counts.all[r]) - exposed;
    double elsewhere = reason == StallReason::long_scoreboard    ? exposed * special_[instruction]
                       : reason == StallReason::short_scoreboard ? exposed * shared_[instruction]
                                                                 : 0;
    TopDown other_place =
        reason == StallReason::long_scoreboard ? TopDown::texture_memory : TopDown::memory_latency;
    result[place] += exposed - elsewhere;
    result[other_place] += elsewhere;
  }
  return result;
}

}  // namespace fathom
