#pragma once
// Events of one multiprocessor: its schedulers, units and queues, and the blocks that come one
// after another. What is made of the events is up to the listeners.

#include <array>
#include <cstdint>
#include <vector>

#include "machine/machine.h"
#include "prediction/memory_plan.h"
#include "prediction/walk.h"

namespace fathom {

/// Why an instruction was issued no earlier.
enum class Wait : uint8_t {
  none,
  start,       ///< the block had not started
  dependency,  ///< a result of fixed latency
  shared,      ///< shared memory, shuffles
  l1,
  l2,
  dram,  ///< a load that was served from there
  constant,
  special,    ///< other results of variable latency
  barrier,    ///< other warps of the block
  unit,       ///< the unit was busy
  queue,      ///< the load/store unit's queue was full
  scheduler,  ///< another warp was chosen
};
inline constexpr size_t kWaits = 13;
const char* name_of(Wait wait);

struct Issue {
  uint32_t step = 0;
  float weight = 1;
  double time = 0;    ///< cycle
  double waited = 0;  ///< cycles since the warp's last issue
  Wait wait = Wait::none;
};

class SimulationListener {
 public:
  virtual ~SimulationListener() = default;
  virtual void issued(const Issue& issue) = 0;
};

/// Keeps units busy for so many cycles, by resource; those of all schedulers together.
struct Busy {
  std::array<double, kPipes> pipes{};
  double issue = 0, l2 = 0, dram = 0, atomics = 0, constants = 0;
};

struct Simulation {
  double cycles = 0;     ///< of the multiprocessor with the most blocks, loops weighted
  double simulated = 0;  ///< cycles that were gone through
  double blocks = 0, blocks_simulated = 0;  ///< on that multiprocessor
  Busy busy;                                ///< in `simulated` cycles
  uint64_t issues = 0;
};

struct SimulationInput {
  const Program& program;
  const Walk& walk;
  const Launch& launch;
  const MachineModel& machine;
  const MemoryPlan& memory;
  uint32_t resident_blocks = 1;
  uint32_t active = 1;  ///< multiprocessors that have blocks
  uint64_t most_issues = 200'000;
};

Simulation simulate(const SimulationInput& input,
                    const std::vector<SimulationListener*>& listeners);

}  // namespace fathom
