#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/gpu_operation.h"

namespace fathom {

/// Which memory was allocated when, by the recorded allocations and releases of one process.
class Allocations {
 public:
  explicit Allocations(const std::vector<GpuOperation>& operations);

  /// Bytes from `address` to the end of the allocation that held it at that time; 0 if none did.
  uint64_t bytes_from(uint64_t address, uint64_t time_ns) const;

 private:
  struct Span {
    uint64_t from_ns = 0, to_ns = UINT64_MAX;
    uint64_t end = 0;  ///< address
  };
  std::map<uint64_t, std::vector<Span>> by_start_;  ///< by first address; in time
};

}  // namespace fathom
