#pragma once
// What a launch makes the device do, counted: what power and energy rest on.

#include <array>
#include <cstdint>
#include <string_view>

namespace fathom {

struct KernelFacts;

/// Instructions are counted for each warp that executes them, lanes for each thread that takes
/// part. All counts are of the whole launch.
enum class Count : uint8_t {
  // Warp instructions, by what they do.
  integer,
  integer_multiply,
  integer_multiply_wide,
  integer_wide,
  fp16,
  fp32,
  fp32_multiply_add,
  fp64,
  conversion,
  special,
  tensor,
  move,
  predicate,
  special_register,
  shuffle,
  vote,
  load_global,
  load_shared,
  load_constant,
  store_global,
  store_shared,
  atomic_global,
  atomic_shared,
  barrier,
  control,
  uniform,
  other,
  // Lanes of them.
  lanes,
  lanes_integer,
  lanes_multiply,
  lanes_compare,
  lanes_fp32,
  lanes_fp64,
  lanes_special,
  lanes_memory,  ///< of global and local memory
  lanes_shared,
  // Bits that change from result to result.
  bits_integer,
  bits_float,
  bits_loaded,
  // Bits of results that differ from lane to lane, and so from warp to warp.
  spread_integer,
  spread_float,
  spread_loaded,
  // Bits that change on the way from or to memory, from one pass or sector to the next.
  bits_shared,
  bits_l1,
  bits_l2_read,
  bits_l2_written,
  bits_dram_read,
  bits_dram_written,
  // 32-bit registers of warps that are read and written.
  registers_read,
  registers_written,
  // Memory.
  shared_passes_read,
  shared_passes_written,
  l1_sectors,
  l1_lines,
  l2_sectors_read,
  l2_sectors_written,
  l2_sectors_atomic,
  l2_requests,  ///< of up to four sectors of a line
  dram_bytes_read,
  dram_bytes_written,
  atomic_lanes,
  atomic_lanes_hot,
  footprint_bytes,
  partial_sectors_written,
  // Cycles that units are busy, all of the device's together.
  cycles_integer,
  cycles_multiply,
  cycles_fp32,
  cycles_fp64,
  cycles_special,
  cycles_tensor,
  cycles_memory,
  // The launch.
  blocks,
  warps,
  block_threads,
  registers,
  block_shared_bytes,
  resident_warps,  ///< on a multiprocessor, of those that fit
  waves,
  active_share,  ///< of multiprocessors
  balance,       ///< blocks of an average multiprocessor, of those of the fullest
  // Microseconds by the other models, without the launch.
  delay_us,
  list_us,
  compute_us,  ///< of the busiest unit, by the roofline
  memory_us,
};
inline constexpr size_t kCounts = static_cast<size_t>(Count::memory_us) + 1;
std::string_view name_of(Count count);

struct Activity {
  std::array<double, kCounts> values{};
  double& operator[](Count count) { return values[static_cast<size_t>(count)]; }
  double operator[](Count count) const { return values[static_cast<size_t>(count)]; }
};

Activity count_activity(const KernelFacts& facts);

}  // namespace fathom
