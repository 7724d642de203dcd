#pragma once

#include <cstdint>
#include <string>

namespace fathom::numa {

/// What `fathom record` asked for, by environment variables.
struct Options {
  bool enabled = false;   ///< FATHOM_NUMA=1
  std::string output;     ///< FATHOM_OUTPUT: the measurement directory
  uint32_t sampling = 0;  ///< FATHOM_NUMA_SAMPLING=0..16: one of 2^k intervals of 1 ms counts
  uint32_t page_threshold = 512;  ///< FATHOM_NUMA_PAGE_THRESHOLD: accesses
  uint32_t line_threshold = 64;   ///< FATHOM_NUMA_LINE_THRESHOLD: writes
};

Options read_options();

/// Of this process.
Options& options();

}  // namespace fathom::numa
