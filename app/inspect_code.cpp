#include "app/inspect_code.h"

#include <algorithm>

#include "app/ordered_work.h"
#include "base/text.h"

namespace fathom {
namespace {

uint64_t count_local(const std::vector<Instruction>& instructions, bool stores) {
  return std::count_if(instructions.begin(), instructions.end(), [&](const Instruction& each) {
    return each.space == MemorySpace::local && (stores ? each.is_store() : each.is_load());
  });
}

/// Functions with `part` in their name.
std::vector<size_t> select(const GpuBinary& binary, const std::string& part) {
  std::vector<size_t> selected;
  for (size_t i = 0; i < binary.functions.size(); ++i) {
    const std::string& name = binary.functions[i].name;
    if (part.empty() || name.find(part) != name.npos || demangle(name).find(part) != name.npos)
      selected.push_back(i);
  }
  return selected;
}

}  // namespace

const char* name_of(OpClass op_class) {
  static constexpr const char* kNames[kOpClasses] = {"integer",
                                                     "integer multiply",
                                                     "slow integer",
                                                     "fp16",
                                                     "fp32",
                                                     "fp64",
                                                     "conversion",
                                                     "special function",
                                                     "tensor",
                                                     "move",
                                                     "predicate",
                                                     "special register",
                                                     "shuffle and vote",
                                                     "load",
                                                     "store",
                                                     "atomic",
                                                     "texture",
                                                     "asynchronous copy",
                                                     "barrier",
                                                     "memory barrier",
                                                     "control",
                                                     "other"};
  return kNames[static_cast<size_t>(op_class)];
}

CodeCounts& CodeCounts::operator+=(const CodeCounts& other) {
  functions += other.functions;
  instructions += other.instructions;
  unknown += other.unknown;
  loops += other.loops;
  return *this;
}

CodeCounts FunctionCode::counts() const {
  CodeCounts counts;
  counts.functions = 1;
  counts.instructions = instructions.size();
  counts.unknown = std::count_if(instructions.begin(), instructions.end(),
                                 [](const Instruction& each) { return !each.known; });
  counts.loops = loops.loops.size();
  return counts;
}

std::array<uint64_t, kOpClasses> FunctionCode::mix() const {
  std::array<uint64_t, kOpClasses> mix{};
  for (const Instruction& instruction : instructions)
    ++mix[static_cast<size_t>(instruction.op_class)];
  return mix;
}

uint64_t FunctionCode::local_loads() const {
  return count_local(instructions, false);
}
uint64_t FunctionCode::local_stores() const {
  return count_local(instructions, true);
}

uint32_t FunctionCode::loop_depth() const {
  uint32_t depth = 0;
  for (const Loop& loop : loops.loops) depth = std::max(depth, loop.depth);
  return depth;
}

std::set<std::string> FunctionCode::callees() const {
  std::set<std::string> names;
  for (const Instruction& instruction : instructions)
    if (!instruction.target_symbol.empty()) names.insert(instruction.target_symbol);
  return names;
}

FunctionCode make_code(const GpuBinary& binary, const GpuSymbol& symbol,
                       const KernelResources& resources, std::vector<Instruction> instructions) {
  FunctionCode code;
  code.binary = &binary;
  code.symbol = &symbol;
  code.demangled = demangle(symbol.name);
  code.resources = resources;
  code.instructions = std::move(instructions);
  code.graph = ControlFlowGraph::build(code.instructions);
  code.loops = LoopNest::build(code.graph, DominatorTree::build(code.graph));
  return code;
}

const std::vector<Decoder>& decoders() {
  using Made = Result<std::unique_ptr<InstructionSource>>;
  static const std::vector<Decoder> all = {
      {"native", [](InstructionText text) -> Made { return native_decoder(text); }, true},
      {"nvdisasm", [](InstructionText) { return nvdisasm_program(); }, false}};
  return all;
}

const Decoder* find_decoder(const std::string& name) {
  for (const Decoder& decoder : decoders())
    if (name == decoder.name) return &decoder;
  return nullptr;
}

Result<Done> read_code(const GpuImage& image, const std::string& where, const Decoder& decoder,
                       const CodeRequest& request,
                       const std::function<void(const FunctionCode&)>& use) {
  Result<std::shared_ptr<const std::vector<uint8_t>>> bytes = unpack(image, where);
  if (!bytes) return bytes.error();
  Result<GpuBinary> binary = open_gpu_binary(std::move(*bytes), describe(image, where));
  if (!binary) return binary.error();
  const std::vector<size_t> wanted = select(*binary, request.name_part);
  const std::vector<KernelResources> resources = all_resources(*binary);
  auto decode = [&](InstructionSource& source, size_t i) -> Result<FunctionCode> {
    const GpuSymbol& symbol = binary->functions[i];
    Result<std::vector<Instruction>> instructions = source.decode(*binary, symbol);
    if (!instructions) return instructions.error();
    return make_code(*binary, symbol, resources[i], std::move(*instructions));
  };
  std::optional<Error> error;
  auto take = [&](size_t, const Result<FunctionCode>& code) {
    if (code) use(*code);
    if (!code) error = code.error();
    return code.ok();
  };
  if (wanted.empty()) return Done{};
  // A source of its own for each image: what it keeps goes with the image.
  Result<std::unique_ptr<InstructionSource>> source = decoder.make(request.text);
  if (!source) return source.error();
  if (decoder.concurrent && request.threads > 1) {
    make_in_order(
        wanted.size(), request.threads, [&](size_t i) { return decode(**source, wanted[i]); },
        take);
  } else {
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!take(i, decode(**source, wanted[i]))) break;
  }
  if (error) return *error;
  return Done{};
}

}  // namespace fathom
