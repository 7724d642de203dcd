#include "prediction/sass_program.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/text.h"
#include "binary/decoder.h"
#include "binary/throughput_class.h"
#include "prediction/register_reads.h"
#include "prediction/timing.h"

namespace fathom {
namespace {

/// Buffers that are not parameters have numbers from here on.
constexpr uint64_t kGlobalVariables = 160;
constexpr uint32_t kLocalTop = 0xfffd00;

/// What the driver puts into constant bank 0 before the parameters.
ConstantValue driver_constant(const GpuBinary& binary, const Launch& launch, uint32_t offset) {
  // Since Blackwell block and grid stand behind what was added before them.
  const uint32_t shape = binary.compute >= 100 ? 0x360 : 0;
  if (offset >= shape && offset < shape + 12) return {true, launch.block[(offset - shape) / 4]};
  if (offset >= shape + 12 && offset < shape + 24)
    return {true, launch.grid[(offset - shape) / 4 - 3]};
  if (offset == 0x28 || offset == 0x37c) return {true, kLocalTop};  // the top of the stack
  return {offset >= 0x100, 0};  // descriptors: any value will do
}

/// The compiler's code for operands that its short code in line does not cover.
bool is_slow_path(std::string_view symbol) {
  for (std::string_view part : {"slowpath", "mediumpath", "_div_rn_f64_full"})
    if (symbol.find(part) != symbol.npos) return true;
  return false;
}

class Maker {
 public:
  Maker(const GpuBinary& binary, const GpuSymbol& kernel, const MachineModel& machine,
        const Launch& launch, ParameterBlock& parameters)
      : binary_(binary),
        kernel_(kernel),
        machine_(machine),
        launch_(launch),
        parameters_(parameters) {}

  Result<Program> make() {
    base_ = kernel_parameters(binary_, kernel_).base;
    own_constants_ = constant_bank(binary_, kernel_, 2);
    for (uint32_t bank : {2u, 3u}) {
      const size_t bytes = constant_bank(binary_, kernel_, bank).size();
      if (bytes > 0) program_.constants[bank] = bytes;
    }
    program_.name = kernel_.name;
    if (Result<Done> done = decode(); !done) return done.error();
    if (program_.instructions.empty())
      return Error{ErrorKind::bad_input, "the kernel " + kernel_.name + " has no code",
                   binary_.name, "the file may be cut off"};
    lower();
    program_.graph = ControlFlowGraph::build(program_.instructions);
    program_.loops = LoopNest::build(program_.graph, DominatorTree::build(program_.graph));
    program_.slots = 256 + 256;
    program_.predicates = 16;
    const KernelResources resources = kernel_resources(binary_, kernel_);
    program_.shape.grid = launch_.grid;
    program_.shape.block = launch_.block;
    program_.shape.registers_per_thread = resources.registers;
    program_.shape.static_shared_memory = resources.static_shared;
    program_.shape.dynamic_shared_memory = launch_.dynamic_shared;
    program_.shape.local_memory_per_thread = resources.stack;
    return std::move(program_);
  }

 private:
  /// The kernel, then the other functions of its section: those are what it calls.
  Result<Done> decode() {
    const std::unique_ptr<InstructionSource> source = native_decoder();
    std::vector<const GpuSymbol*> functions{&kernel_};
    for (const GpuSymbol& each : binary_.functions)
      if (each.section == kernel_.section && &each != &kernel_ && !each.is_kernel)
        functions.push_back(&each);
    std::sort(functions.begin(), functions.end(),
              [](const GpuSymbol* a, const GpuSymbol* b) { return a->offset < b->offset; });
    for (const GpuSymbol* function : functions) {
      Result<std::vector<Instruction>> decoded = source->decode(binary_, *function);
      if (!decoded) return decoded.error();
      for (Instruction& each : *decoded) {
        each.offset += function->offset - kernel_.offset;
        const bool inside = each.flow != Flow::call || each.target_symbol.empty();
        if (each.target) *each.target += inside ? function->offset - kernel_.offset : 0;
        if (each.flow == Flow::call) find_callee(each, functions);
        for (uint64_t& target : each.table) target += function->offset - kernel_.offset;
        if (each.convergence) *each.convergence += function->offset - kernel_.offset;
        add_locations(each.offset + kernel_.offset);
        program_.instructions.push_back(std::move(each));
      }
    }
    return Done{};
  }

  void find_callee(Instruction& call, const std::vector<const GpuSymbol*>& functions) const {
    for (const GpuSymbol* each : functions)
      if (each->name == call.target_symbol) call.target = each->offset - kernel_.offset;
  }

  void add_locations(uint64_t section_offset) {
    std::vector<SourceLocation> chain;
    const LineTables& lines = binary_.lines;
    const LineRow* row = lines.find(kernel_.section, section_offset);
    const auto file = [&](uint32_t index) {
      return index < lines.files.size() ? lines.files[index] : std::string();
    };
    if (row && row->line != 0) {
      chain.push_back({file(row->file), row->line});
      for (int32_t at = row->context; at >= 0 && chain.size() < 64;) {
        const InlinedCall& call = lines.inlines[static_cast<size_t>(at)];
        chain.push_back({file(call.file), call.line});
        at = call.parent;
      }
    }
    program_.locations.push_back(std::move(chain));
  }

  ConstantValue constant(uint32_t bank, uint32_t offset, uint32_t bytes) {
    if (bank == 0 && base_ != 0 && offset >= base_)
      return {true, parameters_.read(offset - base_, bytes)};
    if (bank == 0) {
      ConstantValue low = driver_constant(binary_, launch_, offset);
      if (bytes == 8) low.value |= driver_constant(binary_, launch_, offset + 4).value << 32;
      return low;
    }
    if (bank == 2 && offset + bytes <= own_constants_.size()) {
      ConstantValue value{true, 0};
      std::memcpy(&value.value, own_constants_.data() + offset, bytes);
      return value;
    }
    // Bank 4 holds addresses of global variables; each gets a buffer of its own. Loads of 32 bits
    // ask for its halves.
    if (bank == 4) {
      const uint64_t address = (kGlobalVariables + offset / 8 % 64) << kBufferShift;
      return {true, bytes == 8 ? address : offset % 8 ? address >> 32 : address & 0xffffffff};
    }
    return {};
  }

  void lower() {
    std::unordered_map<uint64_t, uint32_t> step_at;
    for (uint32_t i = 0; i < program_.instructions.size(); ++i)
      step_at[program_.instructions[i].offset] = i;
    const ConstantReader reader = [this](uint32_t bank, uint32_t offset, uint32_t bytes) {
      return constant(bank, offset, bytes);
    };
    const Instruction* before = nullptr;
    for (const Instruction& each : program_.instructions) {
      Step step = lower_sass(each, reader);
      if (each.target) {
        const auto found = step_at.find(*each.target);
        if (found != step_at.end()) step.target = found->second;
      }
      for (uint64_t target : each.table) {
        const auto found = step_at.find(target);
        if (found != step_at.end()) step.table_targets.push_back(found->second);
      }
      step.slow_path = is_slow_path(each.target_symbol);
      add_timing(each, step);
      step.timing.issues = static_cast<float>(register_read_cycles(each, before));
      before = &each;
      program_.steps.push_back(std::move(step));
    }
  }

  void add_timing(const Instruction& instruction, Step& step) const {
    step.timing = timing_of(
        machine_, sass_class(instruction.opcode, instruction.op_class, instruction.space));
    step.timing.stall = instruction.control.stall;
    step.timing.write_barrier = instruction.control.write_barrier;
    step.timing.read_barrier = instruction.control.read_barrier;
    step.timing.wait_mask = instruction.control.wait_mask;
  }

  const GpuBinary& binary_;
  const GpuSymbol& kernel_;
  const MachineModel& machine_;
  const Launch& launch_;
  ParameterBlock& parameters_;
  uint32_t base_ = 0;
  Bytes own_constants_;
  Program program_;
};

}  // namespace

Result<Program> make_program(const GpuBinary& binary, const GpuSymbol& kernel,
                             const MachineModel& machine, const Launch& launch,
                             ParameterBlock& parameters) {
  return Maker(binary, kernel, machine, launch, parameters).make();
}

}  // namespace fathom
