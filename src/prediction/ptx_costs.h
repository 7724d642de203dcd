#pragma once

#include <string>

#include "binary/ptx.h"

namespace fathom {

/// What the assembler usually makes of a PTX instruction: how many machine instructions of which
/// class. Found by compiling each instruction for sm_90 and counting.
struct PtxCost {
  std::string machine_class;  ///< of PredictionFigures::classes
  double issues = 1;
};
PtxCost cost_of(const PtxOpcode& opcode);

}  // namespace fathom
