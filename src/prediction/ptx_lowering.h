#pragma once
// What one PTX instruction computes.

#include <map>
#include <string_view>
#include <vector>

#include "binary/ptx.h"
#include "prediction/launch.h"
#include "prediction/program.h"

namespace fathom {

/// A function with the places of its registers and variables.
struct PtxFrame {
  const PtxModule& module;
  const PtxFunction& function;
  bool is_entry = true;
  std::vector<int16_t> register_slots = {};                 ///< predicates: their number
  std::map<std::string_view, int16_t> variable_slots = {};  ///< of parameters that are passed
  const std::map<std::string_view, uint64_t>* addresses = nullptr;  ///< of variables in memory
};

/// Targets of branches are labels still; a call has none. Timing is left to the caller.
Step lower_ptx(const PtxFrame& frame, const PtxInstruction& instruction,
               ParameterBlock& parameters);

struct PtxCallOperands {
  std::string_view name;                    ///< empty: a call through a register
  std::vector<int16_t> arguments, results;  ///< first slots
};
PtxCallOperands call_operands(const PtxFrame& frame, const PtxInstruction& instruction);

}  // namespace fathom
