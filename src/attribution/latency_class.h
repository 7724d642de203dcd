#pragma once

#include <string_view>

#include "binary/instruction.h"
#include "machine/pipes.h"

namespace fathom {

/// The name under which a machine model lists an instruction's latency: "load_global", "fp64"...
std::string_view latency_class(const Instruction& instruction);

inline LatencyRange latency_of(const MachineModel& machine, const Instruction& instruction) {
  return machine.latency_of(latency_class(instruction));
}

/// The unit of a machine that serves it, and for how long.
PipeUse pipe_use(const MachineModel& machine, const Instruction& instruction);

/// Its result or operands are guarded by a scoreboard (a write or read barrier), so its latency
/// varies.
inline bool has_scoreboard(const Instruction& instruction) {
  return instruction.control.write_barrier < 6 || instruction.control.read_barrier < 6;
}

/// Served by the L1/texture unit, whose results the hardware calls "long scoreboard".
bool is_l1_access(const Instruction& instruction);

}  // namespace fathom
