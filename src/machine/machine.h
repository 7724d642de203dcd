#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

/// One instruction class as the predictor sees it.
struct ClassFigures {
  double latency = 0;  ///< cycles from one instruction to one that depends on it
  double lanes = 0;    ///< threads per multiprocessor and cycle, at most
  /// Warps on a multiprocessor (one independent instruction each) at which the throughput is
  /// reached; 0: not measured, latency and lanes tell.
  double peak_warps = 0;
};

/// Memory as one kernel sees it. Latencies are in cycles of the core clock, for a load that
/// nothing else is in the way of.
struct MemoryFigures {
  double shared_latency = 0, l1_latency = 0;
  double l2_latency = 0;      ///< the near part of a split cache
  double l2_far_latency = 0;  ///< the far part; as `l2_latency` where there is only one
  double dram_latency = 0;
  /// By how much a load takes longer or shorter than that: who waits for several waits for the
  /// slowest.
  double dram_latency_spread = 0;
  /// Cycles that a load of device memory takes longer where that is busy for a share u of the time,
  /// over u / sqrt(1 - u): where all read, and where some write.
  double dram_busy_read_cycles = 0, dram_busy_mixed_cycles = 0;
  double line_bytes = 128, sector_bytes = 32;
  double l1_bytes = 0;  ///< per multiprocessor, shared memory included
  double l2_bytes = 0;
  double shared_bytes_per_cycle = 0;  ///< per multiprocessor, without bank conflicts
  double l1_bytes_per_cycle = 0;      ///< per multiprocessor, hits
  double l2_sm_bytes_per_cycle = 0;   ///< what one multiprocessor gets from L2, at most
  double l2_bytes_per_second = 0;     ///< the whole device, read hits
  double dram_read_bytes_per_second = 0;
  double dram_write_bytes_per_second = 0;
  double dram_copy_bytes_per_second = 0;  ///< reads plus writes, half of each
  /// Of data that go through L2 once a launch and are there from the one before, whole device.
  double l2_read_bytes_per_second = 0, l2_write_bytes_per_second = 0, l2_copy_bytes_per_second = 0;
  double l2_gather_sectors_per_second = 0;    ///< of sectors of L2 at random
  double dram_gather_sectors_per_second = 0;  ///< of sectors of device memory at random
  /// The footprints of which L2 keeps nine tenths and one tenth from one launch to the next.
  double l2_kept_bytes = 0, l2_lost_bytes = 0;
  /// What the first level of a multiprocessor's caches of constants holds, and a table that loads
  /// with a uniform index find there whatever the other warps do.
  double constant_bytes = 0, constant_uniform_bytes = 0;
  /// Cycles until a load of a line that is not there has it, and cycles for which one with a
  /// uniform index keeps its scheduler's way there.
  double constant_miss_cycles = 0, constant_uniform_miss_cycles = 0;
  /// Of so many blocks that walk through a large table half of the warps have lost step.
  double constant_groups = 0;
  double partial_write_cost = 1;  ///< of a sector that is written in part, in whole ones
  double atomic_shared_latency = 0, atomic_global_latency = 0;
  double atomic_sectors_per_second = 0;       ///< that atomic operations change, whole device
  double atomic_line_sectors_per_second = 0;  ///< the same within one line
  /// Atomic operations of the whole device on distinct and on one address (one result each).
  double atomic_global_per_second = 0, atomic_same_address_per_second = 0;
};

struct LaunchFigures {
  double empty_kernel_us = 0;   ///< time of a kernel that does nothing, as kernels' times are taken
  double stream_launch_us = 0;  ///< from one launch to the next in one stream, empty kernels
  double graph_launch_us = 0;   ///< the same within a CUDA graph
  double between_us = 0;     ///< from one kernel's last result to the next one's first instruction
  double block_cycles = 0;   ///< cycles from one block to the next that one multiprocessor starts
  double block_latency = 0;  ///< cycles from a block's end until its successor's first instruction
};

struct PowerFigures {
  double idle_watts = 0, limit_watts = 0;
};

/// What `fathom predict` needs beyond the rest: the optional object "prediction" of a data file.
/// Figures of 0 were left out of the file.
struct PredictionFigures {
  std::string source;    ///< where they come from
  std::string measured;  ///< date of the measurement ("2025-01-31"); empty: public figures
  double clock_mhz = 0;  ///< core clock under load
  /// Classes as in MachineModel::latency, and finer ones ("fp32_fma", "integer_multiply_wide"...).
  std::map<std::string, ClassFigures> classes;
  MemoryFigures memory;
  LaunchFigures launch;
  PowerFigures power;
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
  /// By class as in PredictionFigures::classes, which goes before it: threads per multiprocessor
  /// and cycle, at most. Architectures have it.
  std::map<std::string, double> lanes;
  std::optional<PredictionFigures> prediction;  ///< devices that times can be predicted for

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
/// A model that times can be predicted for, by the device's name or a part of it ("H200"), in any
/// case. Errors: none or several are called so; the hint lists them all.
Result<const MachineModel*> find_device(std::string_view name);
/// Parses a machine data file (JSON). Errors name the file and the field. Every limit must be there
/// and above 0 (the reserved shared memory may be 0), `latency` must list "default". Of
/// "prediction", clock, launch and memory's latencies and bandwidths must be there and above 0 and
/// `classes` must list "default"; names that it does not know are passed over.
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
