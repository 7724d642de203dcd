#pragma once
// What the reader of modules (ptx.cpp) and that of bodies (ptx_body.cpp) share.

#include <vector>

#include "binary/ptx.h"
#include "binary/ptx_names.h"
#include "binary/ptx_scanner.h"

namespace fathom {

struct PtxParser {
  PtxScanner scan;
  PtxModule module;
  PtxNames opcodes, symbols;

  explicit PtxParser(std::string_view text) : scan(text) {}

  /// Everything behind ".global" and its like up to the semicolon, which is taken; of a parameter
  /// up to a comma or parenthesis.
  void variables(PtxSpace space, std::vector<PtxVariable>& out);
  PtxVariable parameter();
  uint32_t opcode(std::string_view text);
};

/// The space that a directive declares variables in; none where it does not.
PtxSpace space_of_directive(std::string_view directive);

/// Reads a body behind its opening brace, to behind the closing one.
void read_ptx_body(PtxParser& parser, PtxFunction& function);

}  // namespace fathom
