#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fathom {

/// Where an instruction comes from. Inlining is a chain: `inlined_into` is the row of the call.
struct LineRow {
  uint64_t offset = 0;   ///< in the section; valid up to the next row's offset
  uint32_t file = 0;     ///< index in LineTables::files
  uint32_t line = 0;     ///< 0: none
  int32_t context = -1;  ///< index in LineTables::inlines; -1: not inlined
  bool end = false;      ///< end of a sequence: nothing is known from here on
};
/// An inlined call: code of `function`, called at `file`:`line`, itself possibly within another
/// inlining.
struct InlinedCall {
  std::string function;  ///< as the compiler wrote it (often mangled)
  uint32_t file = 0;
  uint32_t line = 0;
  int32_t parent = -1;  ///< index in LineTables::inlines; -1: called from the function itself
};
struct LineTables {
  std::vector<std::string> files;  ///< full paths
  std::vector<InlinedCall> inlines;
  std::map<uint32_t, std::vector<LineRow>> rows;  ///< by section index, sorted by offset

  /// The row that covers `offset`, or null.
  const LineRow* find(uint32_t section, uint64_t offset) const;
};

}  // namespace fathom
