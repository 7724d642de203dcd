#pragma once

#include <cstdint>
#include <string>

#include "record/layout.h"

namespace fathom::collect::cuda {

/// What `fathom record` asked for, by environment variables.
struct Options {
  std::string output;     ///< FATHOM_OUTPUT: the measurement directory; empty: record nothing
  bool sampling = false;  ///< FATHOM_CUDA_PC=continuous|serialized
  record::SamplingMode mode = record::SamplingMode::continuous;
  uint32_t period_log2 = 0;  ///< FATHOM_CUDA_PERIOD=5..31; 0: as CUPTI sees fit
  bool debug = false;        ///< FATHOM_DEBUG=1: the collector tells about itself at the end
};

Options read_options();

}  // namespace fathom::collect::cuda
