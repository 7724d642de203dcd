#pragma once

#include <cstdint>
#include <string>

#include "record/writer.h"

namespace fathom {

/// What a run left behind, counted from the headers of its chunks.
struct Recorded {
  uint64_t processes = 0, kernels = 0, copies = 0, samples = 0, binaries = 0, messages = 0;
  uint64_t gpu_processes = 0;   ///< that used a GPU
  uint64_t numa_processes = 0;  ///< whose memory accesses were to be recorded
  uint64_t numa_snapshots = 0;  ///< how many of them got as far as a snapshot
  uint64_t numa_modules = 0, numa_threads = 0, numa_objects = 0;  ///< in their last snapshots
};
Recorded count_recorded(const std::string& directory);

/// Resolves the CPU addresses of all call paths below `directory` and adds them as Symbol records.
/// Modules whose files are gone stay unresolved.
void write_symbols(const std::string& directory, record::ChunkWriter& out);

/// Adds the variables that lie in recorded pages and lines of the modules below `directory` as
/// DataSymbol records. Modules whose files are gone have none.
void write_variables(const std::string& directory, record::ChunkWriter& out);

}  // namespace fathom
