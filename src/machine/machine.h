#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom {

struct LatencyRange {
  uint32_t min = 0, max = 0;  ///< cycles
};

/// Limits of one architecture that occupancy follows from.
struct OccupancyLimits {
  uint32_t warp_size = 32;
  uint32_t max_warps = 0, max_blocks = 0;  ///< per multiprocessor
  uint32_t max_threads_per_block = 1024;
  uint32_t registers = 0;  ///< 32-bit, per multiprocessor
  uint32_t max_registers_per_block = 0;
  uint32_t max_registers_per_thread = 255;
  uint32_t register_unit = 256;  ///< registers are given out to warps in units of this
  uint32_t warp_unit = 4;        ///< warps of a block are given out in multiples of this
  uint32_t shared_memory = 0;    ///< bytes per multiprocessor
  uint32_t max_shared_memory_per_block = 0;       ///< bytes, opt-in
  uint32_t shared_memory_unit = 128;              ///< bytes
  uint32_t reserved_shared_memory_per_block = 0;  ///< bytes the system takes (1 KiB from sm_80 on)
};

/// What the advisor and the predictor know of an architecture or device; one data file each.
struct MachineModel {
  std::string name;              ///< "NVIDIA H200", or "sm_90" for the architecture's own
  std::string arch;              ///< "sm_90"
  std::string source;            ///< where the figures come from
  uint32_t schedulers = 4;       ///< per multiprocessor
  uint32_t multiprocessors = 0;  ///< 0 in an architecture's model
  OccupancyLimits occupancy;
  /// By instruction class: "integer", "integer_multiply", "fp64", "special", "load_global",
  /// "load_shared", "load_local", "load_constant", "texture", "barrier", "predicate", "default"...
  std::map<std::string, LatencyRange> latency;

  LatencyRange latency_of(
      std::string_view instruction_class) const;  ///< "default" where it is not listed
};

/// The model for a compute capability (e.g. 90). Every one from 70 on has a model; an unknown newer
/// one gets the nearest older one (one before 70 gets that of 70), and `exact` tells. The model is
/// never null.
struct MachineChoice {
  const MachineModel* model = nullptr;
  bool exact = true;
};
MachineChoice machine_for(uint32_t compute);
/// The device's own model ("NVIDIA H200"), or else its architecture's.
MachineChoice machine_for(std::string_view device, uint32_t compute);
/// Parses a machine data file (JSON). Errors name the file and the field. Every limit must be there
/// and above 0 (the reserved shared memory may be 0), `latency` must list "default".
Result<MachineModel> parse_machine(std::string_view json, const std::string& file);

/// Theoretical occupancy of a launch, exact: registers in units of 256 per warp, warps in fours,
/// shared memory in its granularity. A launch that cannot run at all has 0 active blocks. Source:
/// CUDA C++ Programming Guide, compute capabilities; NVIDIA's cuda_occupancy.h semantics.
///
/// A resource that the launch does not use allows `max_blocks`. `limit` is what allows the fewest
/// blocks, the first of warps, blocks, registers and shared memory where several do. Shared memory
/// may take all that the multiprocessor can set aside for it; clusters are ignored.
Occupancy occupancy_of(const OccupancyLimits& limits, const LaunchShape& shape);
/// The architecture's limits with what the device itself said (multiprocessor limits) put over
/// them, where it said anything. Shared memory per block is the larger of both, since devices
/// report what a block gets without opting in.
OccupancyLimits limits_of(const MachineModel& model, const DeviceFacts& device);

}  // namespace fathom
