#include "attribution/testing.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "binary/sass_semantics.h"

namespace fathom::testing {
namespace {

struct Opcode {
  OpClass op_class;
  MemorySpace space = MemorySpace::none;
  Flow flow = Flow::next;
};

Opcode opcode_of(const std::string& name) {
  static const std::map<std::string, Opcode> table = {
      {"LDG", {OpClass::load, MemorySpace::global}},
      {"LDL", {OpClass::load, MemorySpace::local}},
      {"LDS", {OpClass::load, MemorySpace::shared}},
      {"LDC", {OpClass::load, MemorySpace::constant}},
      {"STG", {OpClass::store, MemorySpace::global}},
      {"STS", {OpClass::store, MemorySpace::shared}},
      {"IADD", {OpClass::integer}},
      {"IMAD", {OpClass::integer_multiply}},
      {"FADD", {OpClass::fp32}},
      {"FFMA", {OpClass::fp32}},
      {"FMUL", {OpClass::fp32}},
      {"FCHK", {OpClass::fp32}},
      {"ISETP", {OpClass::integer}},
      {"DADD", {OpClass::fp64}},
      {"MUFU", {OpClass::special}},
      {"F2F", {OpClass::conversion}},
      {"TEX", {OpClass::texture, MemorySpace::texture}},
      {"BAR", {OpClass::barrier}},
      {"MEMBAR", {OpClass::memory_barrier}},
      {"BRA", {OpClass::control, MemorySpace::none, Flow::branch}},
      {"EXIT", {OpClass::control, MemorySpace::none, Flow::exit}},
      {"NOP", {OpClass::control}}};
  return table.at(name);
}

Register register_of(std::string_view name) {
  RegisterFile file = name[0] == 'P'   ? RegisterFile::predicate
                      : name[0] == 'B' ? RegisterFile::barrier
                      : name[0] == 'U' ? RegisterFile::uniform
                                       : RegisterFile::general;
  std::string digits(name.substr(name[0] == 'U' ? 2 : 1));
  return {file, static_cast<uint8_t>(std::stoi(digits))};
}

void parse_operation(std::string_view text, Instruction& instruction) {
  instruction.text = text;
  bool after_arrow = false, named = false;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word[0] == '@') {
      instruction.guard.always = false;
      instruction.guard.negated = word[1] == '!';
      instruction.guard.predicate = register_of(word.substr(instruction.guard.negated ? 2 : 1));
      instruction.uses.push_back(instruction.guard.predicate);
    } else if (!named) {
      named = true;
      instruction.opcode = word;
      Opcode opcode = opcode_of(std::string(instruction.base_opcode()));
      instruction.op_class = opcode.op_class;
      instruction.space = opcode.space;
      instruction.flow = opcode.flow;
    } else if (word == "<-") {
      after_arrow = true;
    } else {
      (after_arrow ? instruction.uses : instruction.defs).push_back(register_of(word));
    }
  }
}

void parse_note(std::string_view text, Instruction& instruction) {
  std::vector<std::string_view> words = split(trim(text), ' ');
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[0] == "to") {
      instruction.target = 16 * static_cast<uint64_t>(std::stoi(std::string(words[i])));
      continue;
    }
    Register barrier = register_of(words[i]);
    if (words[0] == "sets") instruction.control.write_barrier = barrier.index;
    if (words[0] == "reads") instruction.control.read_barrier = barrier.index;
    if (words[0] == "waits") {
      instruction.control.wait_mask |= uint8_t(1u << barrier.index);
      instruction.uses.push_back(barrier);
    } else {
      instruction.defs.push_back(barrier);
    }
  }
}

/// Reads what stands before the first "|" of a line.
using ReadOperation = void (*)(std::string_view text, Instruction& instruction);

std::vector<Instruction> read_lines(const std::string& lines, ReadOperation read_operation) {
  std::vector<Instruction> result;
  for (std::string_view line : split(lines, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    Instruction instruction;
    std::vector<std::string_view> parts = split(line, '|');
    read_operation(trim(parts[0]), instruction);
    instruction.offset = 16 * result.size();
    for (size_t i = 1; i < parts.size(); ++i) parse_note(parts[i], instruction);
    std::sort(instruction.defs.begin(), instruction.defs.end());
    std::sort(instruction.uses.begin(), instruction.uses.end());
    result.push_back(std::move(instruction));
  }
  return result;
}

AnalyzedFunction function_of(std::vector<Instruction> instructions) {
  AnalyzedFunction result;
  result.mangled = "kernel";
  result.machine = machine_for(90).model;
  result.instructions = std::move(instructions);
  result.samples.resize(result.instructions.size());
  result.graph = ControlFlowGraph::build(result.instructions);
  result.dominators = DominatorTree::build(result.graph);
  result.loops = LoopNest::build(result.graph, result.dominators);
  return result;
}

}  // namespace

std::vector<Instruction> instructions(const std::string& lines) {
  return read_lines(lines, parse_operation);
}

AnalyzedFunction function(const std::string& lines) {
  return function_of(instructions(lines));
}

AnalyzedFunction sass_function(const std::string& lines) {
  return function_of(read_lines(lines, [](std::string_view text, Instruction& instruction) {
    instruction = read_sass(text);
  }));
}

void put(AnalyzedFunction& function, uint32_t instruction, StallReason reason, uint64_t all,
         uint64_t latency) {
  function.samples[instruction].all[size_t(reason)] += all;
  function.samples[instruction].latency[size_t(reason)] += latency;
}

}  // namespace fathom::testing
