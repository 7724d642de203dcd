#include "app/inspect_code.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

uint64_t count_local(const std::vector<Instruction>& instructions, bool stores) {
  return std::count_if(instructions.begin(), instructions.end(), [&](const Instruction& each) {
    return each.space == MemorySpace::local && (stores ? each.is_store() : each.is_load());
  });
}

bool has_name(const GpuSymbol& function, const std::string& demangled, const std::string& part) {
  return part.empty() || function.name.find(part) != std::string::npos ||
         demangled.find(part) != std::string::npos;
}

}  // namespace

const char* name_of(OpClass op_class) {
  static constexpr const char* kNames[kOpClasses] = {"integer",
                                                     "integer multiply",
                                                     "integer, slow",
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

const std::vector<Decoder>& decoders() {
  static const std::vector<Decoder> all = {{"nvdisasm", nvdisasm_program}};
  return all;
}

const Decoder* find_decoder(const std::string& name) {
  for (const Decoder& decoder : decoders())
    if (name == decoder.name) return &decoder;
  return nullptr;
}

Result<Done> read_code(const GpuImage& image, const std::string& where, const Decoder& decoder,
                       const std::string& name_part,
                       const std::function<void(const FunctionCode&)>& use) {
  Result<std::shared_ptr<const std::vector<uint8_t>>> bytes = unpack(image, where);
  if (!bytes) return bytes.error();
  Result<GpuBinary> binary = open_gpu_binary(std::move(*bytes), describe(image, where));
  if (!binary) return binary.error();
  // A source of its own for each image: what it keeps goes with the image.
  Result<std::unique_ptr<InstructionSource>> source = decoder.make();
  if (!source) return source.error();
  const std::vector<KernelResources> resources = all_resources(*binary);
  for (size_t i = 0; i < binary->functions.size(); ++i) {
    FunctionCode code;
    code.binary = &*binary;
    code.symbol = &binary->functions[i];
    code.demangled = demangle(code.symbol->name);
    if (!has_name(*code.symbol, code.demangled, name_part)) continue;
    Result<std::vector<Instruction>> instructions = (*source)->decode(*binary, *code.symbol);
    if (!instructions) return instructions.error();
    code.resources = resources[i];
    code.instructions = std::move(*instructions);
    code.graph = ControlFlowGraph::build(code.instructions);
    code.loops = LoopNest::build(code.graph, DominatorTree::build(code.graph));
    use(code);
  }
  return Done{};
}

}  // namespace fathom
