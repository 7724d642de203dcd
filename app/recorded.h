#pragma once

#include <cstdint>
#include <string>

#include "record/writer.h"

namespace fathom {

/// What a run left behind, counted from the headers of its chunks.
struct Recorded {
  uint64_t processes = 0, kernels = 0, copies = 0, samples = 0, binaries = 0, messages = 0;
};
Recorded count_recorded(const std::string& directory);

/// Resolves the CPU addresses of all call paths below `directory` and adds them as Symbol records.
/// Modules whose files are gone stay unresolved.
void write_symbols(const std::string& directory, record::ChunkWriter& out);

}  // namespace fathom
