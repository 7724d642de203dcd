#pragma once

#include <string>

#include "base/bytes.h"
#include "measurement/measurement.h"

namespace fathom {

/// Reads run.fathom, given as bytes, into `measurement`: the facts of the run, CPU symbols, and
/// warnings. Returns the number of whole chunks.
size_t read_run(const std::string& file, Bytes bytes, Measurement& measurement);

}  // namespace fathom
