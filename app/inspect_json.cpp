#include <nlohmann/json.hpp>

#include "app/inspect_views.h"
#include "views/json_parts.h"

namespace fathom {
namespace {

Json json_of(const Control& control) {
  Json json = {{"stall", control.stall}, {"yield", yields(control)}};
  if (control.write_barrier != 7) json["write_barrier"] = control.write_barrier;
  if (control.read_barrier != 7) json["read_barrier"] = control.read_barrier;
  Json waits = Json::array();
  for (unsigned i = 0; i < 6; ++i)
    if (control.wait_mask >> i & 1) waits.push_back(i);
  json["waits"] = waits;
  json["reuse"] = control.reuse;
  return json;
}

Json json_of(const Instruction& instruction, const FunctionCode& code) {
  Json json = {{"offset", instruction.offset},
               {"text", instruction.text},
               {"class", name_of(instruction.op_class)},
               {"known", instruction.known},
               {"control", json_of(instruction.control)}};
  if (instruction.target) json["target"] = *instruction.target;
  if (instruction.convergence) json["convergence"] = *instruction.convergence;
  const LineTables& lines = code.binary->lines;
  const LineRow* row = lines.find(code.symbol->section, code.symbol->offset + instruction.offset);
  if (row && row->line && row->file < lines.files.size())
    json["location"] = {{"file", lines.files[row->file]}, {"line", row->line}};
  return json;
}

Json loops_json(const FunctionCode& code) {
  Json loops = Json::array();
  for (const Loop& loop : code.loops.loops) {
    const uint32_t first = code.graph.blocks[loop.header].first;
    Json json = {{"header", loop.header},
                 {"offset", code.instructions[first].offset},
                 {"depth", loop.depth},
                 {"blocks", loop.blocks.size()},
                 {"irreducible", loop.irreducible}};
    json["parent"] = loop.parent == kNoBlock ? Json() : Json(loop.parent);
    loops.push_back(json);
  }
  return loops;
}

Json blocks_json(const FunctionCode& code) {
  Json blocks = Json::array();
  for (const Block& block : code.graph.blocks)
    blocks.push_back({{"first", code.instructions[block.first].offset},
                      {"last", code.instructions[block.last].offset},
                      {"successors", block.successors}});
  return blocks;
}

}  // namespace

Json json_of(const GpuImage& image) {
  return {{"index", image.index},
          {"kind", name_of(image.kind)},
          {"arch", image.arch},
          {"size", image.size},
          {"stored_size", image.payload.size()},
          {"compression", name_of(image.compression)},
          {"encrypted", image.encrypted},
          {"identifier", std::string(image.identifier)},
          {"place", image.place},
          {"offset", image.offset}};
}

Json json_of(const CodeCounts& counts) {
  return {{"functions", counts.functions},
          {"instructions", counts.instructions},
          {"loops", counts.loops},
          {"unknown_instructions", counts.unknown}};
}

Json json_of(const FunctionCode& code, bool with_instructions, bool with_blocks) {
  Json json = {{"name", code.symbol->name},
               {"demangled", code.demangled},
               {"kernel", code.symbol->is_kernel},
               {"code_bytes", code.symbol->size},
               {"registers", code.resources.registers},
               {"static_shared_bytes", code.resources.static_shared},
               {"stack_bytes", code.resources.stack},
               {"max_threads", code.resources.max_threads},
               {"local_loads", code.local_loads()},
               {"local_stores", code.local_stores()},
               {"instructions", code.instructions.size()},
               {"unknown_instructions", code.counts().unknown}};
  Json mix = Json::object();
  const std::array<uint64_t, kOpClasses> counts = code.mix();
  for (size_t i = 0; i < kOpClasses; ++i)
    if (counts[i]) mix[name_of(static_cast<OpClass>(i))] = counts[i];
  json["mix"] = mix;
  json["loops"] = loops_json(code);
  json["calls"] = code.callees();
  if (with_blocks) json["blocks"] = blocks_json(code);
  if (with_instructions) {
    json["code"] = Json::array();
    for (const Instruction& instruction : code.instructions)
      json["code"].push_back(json_of(instruction, code));
  }
  return json;
}

}  // namespace fathom
