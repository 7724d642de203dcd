#include <algorithm>

#include "machine/machine.h"

namespace fathom {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Sizes beyond 2^32 say no more than 2^32 does.
uint64_t threads_of(const LaunchShape& shape) {
  uint64_t threads = 1;
  for (uint32_t size : shape.block) threads = std::min(threads * size, uint64_t(1) << 32);
  return threads;
}

uint64_t blocks_by_registers(const OccupancyLimits& limits, uint64_t registers_per_thread,
                             uint64_t warps) {
  if (registers_per_thread > limits.max_registers_per_thread) return 0;
  const uint64_t per_warp = round_up(registers_per_thread * limits.warp_size, limits.register_unit);
  // The hardware checks a block as if it took registers from all partitions alike.
  if (per_warp * round_up(warps, limits.warp_unit) > limits.max_registers_per_block) return 0;
  if (per_warp == 0) return limits.max_blocks;
  // Each of the partitions holds whole warps.
  const uint64_t per_partition = limits.registers / limits.warp_unit / per_warp;
  return per_partition * limits.warp_unit / warps;
}

uint64_t blocks_by_shared_memory(const OccupancyLimits& limits, const LaunchShape& shape) {
  const uint64_t reserved = limits.reserved_shared_memory_per_block;
  const uint64_t asked = reserved + shape.static_shared_memory + shape.dynamic_shared_memory;
  const uint64_t per_block = round_up(asked, limits.shared_memory_unit);
  if (per_block > limits.max_shared_memory_per_block + reserved) return 0;
  return per_block == 0 ? limits.max_blocks : limits.shared_memory / per_block;
}

}  // namespace

Occupancy occupancy_of(const OccupancyLimits& limits, const LaunchShape& shape) {
  Occupancy result;
  result.available_warps = limits.max_warps;
  const uint64_t threads = threads_of(shape);
  const bool fits = threads > 0 && threads <= limits.max_threads_per_block;
  const uint64_t warps =
      std::max<uint64_t>(1, round_up(threads, limits.warp_size) / limits.warp_size);

  result.limit_warps = fits ? static_cast<uint32_t>(limits.max_warps / warps) : 0;
  result.limit_blocks = limits.max_blocks;
  result.limit_registers =
      static_cast<uint32_t>(blocks_by_registers(limits, shape.registers_per_thread, warps));
  result.limit_shared_memory = static_cast<uint32_t>(blocks_by_shared_memory(limits, shape));

  const std::pair<OccupancyLimit, uint32_t> allowed[] = {
      {OccupancyLimit::warps, result.limit_warps},
      {OccupancyLimit::blocks, result.limit_blocks},
      {OccupancyLimit::registers, result.limit_registers},
      {OccupancyLimit::shared_memory, result.limit_shared_memory}};
  const auto least =
      std::min_element(std::begin(allowed), std::end(allowed),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  result.limit = least->first;
  result.active_blocks = least->second;
  result.active_warps = static_cast<uint32_t>(result.active_blocks * warps);
  return result;
}

}  // namespace fathom
