#include "app/inspect_views.h"
#include "base/text.h"

namespace fathom {
namespace {

/// A string in the DOT language, without the quotes.
std::string escaped(std::string_view text) {
  std::string result;
  for (char each : printable(text)) {
    if (each == '"' || each == '\\') result += '\\';
    result += each;
  }
  return result;
}

std::string block_label(const FunctionCode& code, uint32_t index) {
  const Block& block = code.graph.blocks[index];
  std::string label;
  if (const uint32_t loop = code.loops.innermost[index]; loop != kNoBlock) {
    label += format("loop %u, depth %u", loop + 1, code.loops.loops[loop].depth);
    label += code.loops.loops[loop].header == index ? ": header\\l" : "\\l";
  }
  for (uint32_t i = block.first; i <= block.last; ++i) {
    const Instruction& instruction = code.instructions[i];
    label += format("%04llx  ", (unsigned long long)instruction.offset) +
             escaped(instruction.text) + "\\l";
  }
  return label;
}

}  // namespace

std::string dot_text(const FunctionCode& code, const GpuImage& image) {
  const std::string id = format("i%u_s%u", image.index, code.symbol->symbol_index);
  std::string text = "  subgraph cluster_" + id + " {\n    label=\"" + escaped(code.demangled) +
                     " (" + image.arch + ")\";\n";
  for (uint32_t i = 0; i < code.graph.blocks.size(); ++i)
    text += "    " + id + format("_b%u [label=\"", i) + block_label(code, i) + "\"];\n";
  for (uint32_t i = 0; i < code.graph.blocks.size(); ++i)
    for (uint32_t to : code.graph.blocks[i].successors)
      text += "    " + id + format("_b%u -> ", i) + id + format("_b%u;\n", to);
  return text + "  }\n";
}

}  // namespace fathom
