#include "prediction/ptx_program.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/text.h"
#include "prediction/block_order.h"
#include "prediction/ptx_costs.h"
#include "prediction/ptx_lowering.h"
#include "prediction/timing.h"

namespace fathom {
namespace {

/// Beyond this a slot has no number.
constexpr size_t kMostSlots = 30'000;
constexpr uint64_t kGlobalVariables = 160;

class Maker {
 public:
  Maker(const PtxModule& module, const MachineModel& machine, const Launch& launch,
        ParameterBlock& parameters)
      : module_(module), machine_(machine), launch_(launch), parameters_(parameters) {}

  Result<Program> make(const std::string& kernel) {
    const PtxFunction* entry = module_.find(kernel);
    if (!entry || !entry->has_body || entry->instructions.empty())
      return Error{ErrorKind::bad_input, "the kernel " + kernel + " has no body", "",
                   "give the PTX that defines it"};
    program_.name = kernel;
    program_.from_sass = false;
    program_.waits_by_slot = true;
    place_variables(*entry);
    functions_.push_back(entry);
    for (size_t i = 0; i < functions_.size(); ++i) add_function(*functions_[i], i == 0);
    if (slots_ + predicates_ > kMostSlots)
      return Error{ErrorKind::cannot_answer,
                   "the kernel has too many registers to be predicted from PTX", kernel,
                   "install ptxas, or give a cubin"};
    link();
    program_.slots = static_cast<uint32_t>(slots_);
    program_.predicates = static_cast<uint32_t>(predicates_);
    for (Step& each : program_.steps) note_slots(each);
    program_.shape.registers_per_thread = estimate_registers(*entry);
    program_.graph = ControlFlowGraph::build(program_.instructions);
    for (const Block& each : program_.graph.blocks) order_block(program_, each.first, each.last);
    program_.loops = LoopNest::build(program_.graph, DominatorTree::build(program_.graph));
    program_.shape.grid = launch_.grid;
    program_.shape.block = launch_.block;
    program_.shape.static_shared_memory = shared_;
    program_.shape.dynamic_shared_memory = launch_.dynamic_shared;
    return std::move(program_);
  }

 private:
  /// Shared and local variables lie one behind the other; global ones get a buffer each.
  void place_variables(const PtxFunction& entry) {
    uint64_t shared = 0, local = 0, buffer = 0;
    const auto place = [&](const PtxVariable& each) {
      const uint64_t align = std::max<uint64_t>(1, each.align ? each.align : each.type.bits / 8);
      uint64_t& end = each.space == PtxSpace::local ? local : shared;
      if (each.space == PtxSpace::shared || each.space == PtxSpace::local) {
        end = (end + align - 1) / align * align;
        addresses_[each.name] = end;
        end += each.size;
      } else if (each.space == PtxSpace::global || each.space == PtxSpace::constant) {
        const uint64_t number = kGlobalVariables + buffer++ % 64;
        addresses_[each.name] = number << kBufferShift;
        if (each.space == PtxSpace::constant && each.size > 0)
          program_.constants[number] = each.size;
      }
    };
    for (const PtxVariable& each : module_.variables)
      if (each.space != PtxSpace::shared || is_used(entry, each.name)) place(each);
    for (const PtxVariable& each : entry.variables) place(each);
    shared_ = static_cast<uint32_t>(std::min<uint64_t>(shared, 1u << 30));
  }
  bool is_used(const PtxFunction& entry, std::string_view name) const {
    return std::any_of(entry.operands.begin(), entry.operands.end(), [&](const PtxOperand& each) {
      const bool symbol =
          each.kind == PtxOperandKind::symbol ||
          (each.kind == PtxOperandKind::address && each.base == PtxOperandKind::symbol);
      return symbol && module_.symbols[each.name] == name;
    });
  }

  void add_function(const PtxFunction& function, bool is_entry) {
    PtxFrame frame{module_, function, is_entry};
    for (const PtxRegister& each : function.registers) {
      if (each.type.kind == PtxType::pred) {
        frame.register_slots.push_back(
            static_cast<int16_t>(std::min<size_t>(predicates_++, kMostSlots)));
      } else {
        frame.register_slots.push_back(static_cast<int16_t>(std::min<size_t>(slots_, kMostSlots)));
        slots_ += std::max<size_t>(1, each.type.bits / 32u) * each.elements;
      }
    }
    if (!is_entry) {
      for (const PtxVariable& each : function.parameters) take_slots(frame, each);
      for (const PtxVariable& each : function.results) take_slots(frame, each);
    }
    for (const PtxVariable& each : function.variables) {
      if (each.space == PtxSpace::param) {
        take_slots(frame, each);
      } else if (each.space == PtxSpace::local || each.space == PtxSpace::shared) {
        addresses_.emplace(each.name, 0);
      }
    }
    frame.addresses = &addresses_;
    first_step_[&function] = static_cast<uint32_t>(program_.steps.size());
    std::vector<uint32_t> step_of(function.instructions.size() + 1);
    const size_t begin = program_.steps.size();
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      step_of[i] = static_cast<uint32_t>(program_.steps.size());
      add_instruction(frame, function.instructions[i]);
    }
    step_of.back() = static_cast<uint32_t>(program_.steps.size());
    add_step(frame, end_of(is_entry), {}, {"control", 1});  // for labels at the end
    for (size_t i = begin; i < program_.steps.size(); ++i) {
      Step& step = program_.steps[i];
      const auto at_label = [&](uint32_t label) {
        return step_of[std::min<size_t>(function.labels[label].instruction, step_of.size() - 1)];
      };
      if (step.op == Op::branch && step.target != kNoBlock) step.target = at_label(step.target);
      for (uint32_t& each : step.table_targets) each = at_label(each);
    }
    frames_[&function] = frame.variable_slots;
  }

  static Step end_of(bool is_entry) {
    Step step;
    step.op = is_entry ? Op::exit : Op::return_;
    step.flow = is_entry ? Flow::exit : Flow::return_;
    step.op_class = OpClass::control;
    return step;
  }

  void take_slots(PtxFrame& frame, const PtxVariable& variable) {
    const size_t count = std::clamp<size_t>((variable.size + 3) / 4, 1, 256);
    frame.variable_slots[variable.name] =
        static_cast<int16_t>(std::min<size_t>(slots_, kMostSlots));
    slots_ += count + count % 2;
  }

  void add_instruction(const PtxFrame& frame, const PtxInstruction& instruction) {
    const PtxOpcode& opcode = module_.opcodes[instruction.opcode];
    const PtxCost cost = cost_of(opcode);
    Step step = lower_ptx(frame, instruction, parameters_);
    if (step.op != Op::call) return add_step(frame, std::move(step), instruction, cost);
    add_call(frame, instruction, std::move(step), cost);
  }

  /// Parameters move to the callee's, then results back.
  void add_call(const PtxFrame& frame, const PtxInstruction& instruction, Step step,
                const PtxCost& cost) {
    const PtxCallOperands call = call_operands(frame, instruction);
    const PtxFunction* callee = call.name.empty() ? nullptr : module_.find(call.name);
    if (callee && (!callee->has_body || callee->instructions.empty())) callee = nullptr;
    if (!callee) {
      step.op = Op::opaque;
      step.flow = Flow::next;
      return add_step(frame, std::move(step), instruction, cost);
    }
    if (std::find(functions_.begin(), functions_.end(), callee) == functions_.end())
      functions_.push_back(callee);
    calls_.push_back({static_cast<uint32_t>(program_.steps.size()), 0, callee, call, step.guard});
    for (size_t i = 0; i < call.arguments.size(); ++i)
      add_step(frame, Step{}, instruction, {"move", 0});
    calls_.back().at = static_cast<uint32_t>(program_.steps.size());
    add_step(frame, std::move(step), instruction, cost);
    for (size_t i = 0; i < call.results.size(); ++i)
      add_step(frame, Step{}, instruction, {"move", 0});
  }

  void add_step(const PtxFrame& frame, Step step, const PtxInstruction& from, const PtxCost& cost) {
    step.timing = timing_of(machine_, cost.machine_class);
    step.timing.issues = static_cast<float>(cost.issues);
    step.timing.stall = 0;
    step.timing.pipe_cycles *= static_cast<float>(cost.issues);
    step.timing.latency *=
        static_cast<float>(std::max(cost.issues < 1 ? cost.issues : 1.0, 0.6 * cost.issues));
    Instruction instruction;
    instruction.offset = program_.steps.size();
    instruction.flow = step.flow;
    instruction.op_class = step.op_class;
    if (from.operand_count > 0 || from.line > 0)
      instruction.opcode = std::string(module_.opcodes[from.opcode].text);
    if (step.guard.index >= 0)
      instruction.guard = {false, step.guard.negated, {RegisterFile::predicate, 0}};
    program_.instructions.push_back(std::move(instruction));
    program_.locations.push_back(locations_of(frame.function, from));
    program_.steps.push_back(std::move(step));
  }

  std::vector<SourceLocation> locations_of(const PtxFunction& function,
                                           const PtxInstruction& from) const {
    std::vector<SourceLocation> chain;
    for (uint32_t at = from.location; at != kNoIndex && chain.size() < 64;
         at = function.locations[at].inlined_at) {
      const PtxLocation& row = function.locations[at];
      if (row.line != 0) chain.push_back({std::string(module_.file_name(row.file)), row.line});
    }
    if (chain.empty() && from.line != 0) chain.push_back({"PTX", from.line});
    return chain;
  }

  struct Call {
    uint32_t first = 0, at = 0;
    const PtxFunction* callee = nullptr;
    PtxCallOperands operands;
    PredicateSource guard;
  };

  void link() {
    for (const Call& call : calls_) {
      program_.steps[call.at].target = first_step_.at(call.callee);
      const auto& slots = frames_.at(call.callee);
      const auto move = [&](uint32_t at, int16_t from, int16_t to, uint64_t size) {
        Step& step = program_.steps[at];
        step.op = Op::move;
        step.guard = call.guard;
        step.wide = size > 4;
        step.sources[0].slot = from;
        step.sources[0].wide = step.wide;
        step.result = to;
        step.result_slots = step.wide ? 2 : 1;
      };
      const auto slot = [&](const PtxVariable& variable) {
        const auto found = slots.find(variable.name);
        return found == slots.end() ? kNoSlot : found->second;
      };
      for (size_t i = 0; i < call.operands.arguments.size() && i < call.callee->parameters.size();
           ++i)
        move(call.first + static_cast<uint32_t>(i), call.operands.arguments[i],
             slot(call.callee->parameters[i]), call.callee->parameters[i].size);
      for (size_t i = 0; i < call.operands.results.size() && i < call.callee->results.size(); ++i)
        move(call.at + 1 + static_cast<uint32_t>(i), slot(call.callee->results[i]),
             call.operands.results[i], call.callee->results[i].size);
    }
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.target != kNoBlock) program_.instructions[i].target = step.target;
      for (uint32_t each : step.table_targets) program_.instructions[i].table.push_back(each);
    }
  }

  void note_slots(Step& step) const {
    const auto predicate = [&](int16_t index) {
      return static_cast<int16_t>(static_cast<int16_t>(slots_) + index);
    };
    for (const Source& each : step.sources) {
      if (each.slot == kNoSlot) continue;
      step.reads.push_back(each.slot);
      if (each.wide) step.reads.push_back(static_cast<int16_t>(each.slot + 1));
    }
    for (const PredicateSource& each : step.predicates)
      if (each.index >= 0) step.reads.push_back(predicate(each.index));
    if (step.guard.index >= 0) step.reads.push_back(predicate(step.guard.index));
    for (uint32_t i = 0; step.result != kNoSlot && i < step.result_slots; ++i)
      step.writes.push_back(static_cast<int16_t>(step.result + static_cast<int16_t>(i)));
    for (int16_t each : step.result_predicates)
      if (each >= 0) step.writes.push_back(predicate(each));
  }

  /// What is alive at once, in the order of the text; values that a loop needs live to its end.
  uint32_t estimate_registers(const PtxFunction& entry) const {
    struct Life {
      uint32_t first = kNoBlock, last = 0;
    };
    std::vector<Life> lives(slots_);
    for (uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      const auto touch = [&](int16_t slot) {
        if (slot < 0 || static_cast<size_t>(slot) >= slots_) return;
        lives[static_cast<size_t>(slot)].first =
            std::min(lives[static_cast<size_t>(slot)].first, i);
        lives[static_cast<size_t>(slot)].last = i;
      };
      // Addresses of parameters and constants are operands of the machine's instructions.
      if (step.op == Op::move && step.sources[0].slot == kNoSlot) continue;
      for (int16_t each : step.reads) touch(each);
      for (int16_t each : step.writes) touch(each);
    }
    for (uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.op != Op::branch || step.target == kNoBlock || step.target >= i) continue;
      for (Life& each : lives)
        if (each.first < step.target && each.last >= step.target)
          each.last = std::max(each.last, i);
    }
    std::vector<int32_t> change(program_.steps.size() + 2, 0);
    for (const Life& each : lives)
      if (each.first != kNoBlock) ++change[each.first], --change[each.last + 1];
    int32_t now = 0, most = 0;
    for (int32_t each : change) most = std::max(most, now += each);
    uint32_t estimate = std::clamp<uint32_t>(static_cast<uint32_t>(most) + 8, 16, 255);
    if (entry.max_registers) estimate = std::min(estimate, entry.max_registers);
    if (entry.min_blocks && entry.max_threads[0]) {
      const uint32_t threads = entry.max_threads[0] * entry.max_threads[1] * entry.max_threads[2];
      if (threads > 0)
        estimate = std::min(
            estimate, std::max(16u, machine_.occupancy.registers / (entry.min_blocks * threads)));
    }
    // The caller's block runs, so that the assembler must have found a way.
    const uint32_t warps = (launch_.warps_per_block() + 3) / 4 * 4;
    return std::min(estimate, machine_.occupancy.registers / (warps * 32) / 8 * 8);
  }

  const PtxModule& module_;
  const MachineModel& machine_;
  const Launch& launch_;
  ParameterBlock& parameters_;
  Program program_;
  size_t slots_ = 0, predicates_ = 0;
  uint32_t shared_ = 0;
  std::map<std::string_view, uint64_t> addresses_;
  std::vector<const PtxFunction*> functions_;
  std::map<const PtxFunction*, uint32_t> first_step_;
  std::map<const PtxFunction*, std::map<std::string_view, int16_t>> frames_;
  std::vector<Call> calls_;
};

}  // namespace

Result<Program> make_program(const PtxModule& module, const std::string& kernel,
                             const MachineModel& machine, const Launch& launch,
                             ParameterBlock& parameters) {
  return Maker(module, machine, launch, parameters).make(kernel);
}

}  // namespace fathom
