#pragma once
// Code and graphs for tests, in a notation that a person can read.

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "flow/control_flow.h"

namespace fathom::test {

inline Register reg(const std::string& name) {
  const auto after = [&](size_t prefix) {
    return static_cast<uint8_t>(std::stoi(name.substr(prefix)));
  };
  if (name.rfind("UR", 0) == 0) return {RegisterFile::uniform, after(2)};
  if (name.rfind("UP", 0) == 0) return {RegisterFile::uniform_predicate, after(2)};
  if (name[0] == 'P') return {RegisterFile::predicate, after(1)};
  if (name[0] == 'B') return {RegisterFile::barrier, after(1)};
  return {RegisterFile::general, after(1)};
}

inline Flow flow_of(const std::string& opcode) {
  static const std::map<std::string, Flow> flows{
      {"BRA", Flow::branch},  {"BRX", Flow::indirect_branch}, {"EXIT", Flow::exit},
      {"RET", Flow::return_}, {"CALL", Flow::call},           {"ICALL", Flow::indirect_call}};
  const auto found = flows.find(opcode.substr(0, opcode.find('.')));
  return found == flows.end() ? Flow::next : found->second;
}

/// Instructions of 16 bytes from lines like
///     top: @!P0 LDG R0 R1 <- R2 P1 | sets B0
/// with registers defined before and used behind the arrow; "waits B0" is a use and "sets B0" a
/// definition. What follows BRA and BRX are labels; one that is not defined is outside the
/// function.
inline std::vector<Instruction> code(const std::string& text) {
  std::vector<Instruction> result;
  std::vector<std::vector<std::string>> labels_of;
  std::map<std::string, uint64_t> offset_of;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Instruction instruction;
    std::vector<std::string> labels;
    std::vector<Register>* list = &instruction.defs;
    instruction.offset = result.size() * 16;
    for (std::string word; words >> word;) {
      if (word.back() == ':') {
        offset_of[word.substr(0, word.size() - 1)] = instruction.offset;
      } else if (word[0] == '@') {
        const bool negated = word[1] == '!';
        instruction.guard = {false, negated, reg(word.substr(negated ? 2 : 1))};
        instruction.uses.push_back(instruction.guard.predicate);
      } else if (instruction.opcode.empty()) {
        instruction.opcode = word;
        instruction.flow = flow_of(word);
      } else if (word == "<-" || word == "waits") {
        list = &instruction.uses;
      } else if (word == "sets") {
        list = &instruction.defs;
      } else if (word != "|") {
        const bool jump =
            instruction.flow == Flow::branch || instruction.flow == Flow::indirect_branch;
        if (jump && list == &instruction.defs) {
          labels.push_back(word);
        } else {
          list->push_back(reg(word));
        }
      }
    }
    if (instruction.opcode.empty()) continue;
    std::sort(instruction.defs.begin(), instruction.defs.end());
    std::sort(instruction.uses.begin(), instruction.uses.end());
    result.push_back(instruction);
    labels_of.push_back(labels);
  }
  for (size_t i = 0; i < result.size(); ++i) {
    for (const std::string& label : labels_of[i]) {
      const auto found = offset_of.find(label);
      const uint64_t offset = found == offset_of.end() ? 1'000'000'000 : found->second;
      if (result[i].flow == Flow::branch) result[i].target = offset;
      if (result[i].flow == Flow::indirect_branch) result[i].table.push_back(offset);
    }
  }
  return result;
}

/// A graph of blocks of the given sizes (1 each if there are none) with these edges.
inline ControlFlowGraph graph_of(uint32_t blocks,
                                 const std::vector<std::pair<uint32_t, uint32_t>>& edges,
                                 const std::vector<uint32_t>& sizes = {}) {
  ControlFlowGraph graph;
  for (uint32_t i = 0; i < blocks; ++i) {
    const auto first = static_cast<uint32_t>(graph.block_of.size());
    graph.block_of.resize(first + (sizes.empty() ? 1 : sizes[i]), i);
    graph.blocks.push_back({first, static_cast<uint32_t>(graph.block_of.size() - 1), {}, {}});
  }
  for (const auto& [from, to] : edges) {
    graph.blocks[from].successors.push_back(to);
    graph.blocks[to].predecessors.push_back(from);
  }
  return graph;
}

/// Up to two successors a block, as in code; irreducible and unreachable parts come along.
inline ControlFlowGraph random_graph(std::mt19937& random, uint32_t blocks) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<uint32_t> sizes;
  for (uint32_t from = 0; from < blocks; ++from) {
    sizes.push_back(1 + random() % 4);
    const uint32_t first = random() % blocks, second = random() % blocks;
    const bool falls_through = from + 1 < blocks && random() % 3 != 0;
    edges.push_back({from, falls_through ? from + 1 : first});
    if (random() % 2 == 0 && second != edges.back().second) edges.push_back({from, second});
  }
  return graph_of(blocks, edges, sizes);
}

/// Blocks reachable from `start` without entering `without`; `start` itself counts.
inline std::vector<bool> reachable_from(const ControlFlowGraph& graph, uint32_t start,
                                        uint32_t without = kNoBlock) {
  std::vector<bool> reached(graph.blocks.size(), false);
  if (start == without) return reached;
  std::vector<uint32_t> open{start};
  reached[start] = true;
  while (!open.empty()) {
    const uint32_t block = open.back();
    open.pop_back();
    for (uint32_t successor : graph.blocks[block].successors) {
      if (successor == without || reached[successor]) continue;
      reached[successor] = true;
      open.push_back(successor);
    }
  }
  return reached;
}

}  // namespace fathom::test
