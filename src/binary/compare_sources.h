#pragma once
// How two decoders of the same binary differ. For tests and tests/sass_differential.

#include <cstddef>
#include <map>
#include <string>

#include "binary/decoder.h"

namespace fathom {

struct SourceDifferences {
  struct Class {
    size_t count = 0;
    std::map<std::string, size_t> by_opcode;
    std::map<std::string, std::string> example;  ///< by opcode
  };
  size_t functions = 0;
  size_t instructions = 0;
  size_t different = 0;   ///< instructions that differ in what analysis relies on
  size_t text_alike = 0;  ///< instructions whose text is the same but for labels
  std::map<std::string, Class> classes;

  /// Classes and their opcodes, the most frequent first.
  std::string report(size_t opcodes_per_class = 5) const;
};

/// Compares what `ours` says of each function with what `theirs` says.
/// Errors: what the sources report.
Result<Done> compare_sources(const GpuBinary& binary, InstructionSource& theirs,
                             InstructionSource& ours, SourceDifferences& differences);

}  // namespace fathom
