#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom {

enum class GpuOperationKind : uint8_t { kernel, copy, memory_set, allocate, release, synchronize };
/// The copy directions, memory kinds and synchronization kinds of HPCToolkit's metrics, in its
/// order.
enum class CopyKind : uint8_t { unknown, h2d, d2h, h2a, a2h, a2a, a2d, d2a, d2d, h2h, p2p };
enum class MemoryKind : uint8_t {
  unknown,
  pageable,
  pinned,
  device,
  array,
  managed,
  device_static,
  managed_static
};
enum class SyncKind : uint8_t { unknown, event, stream_event, stream, context };
inline constexpr size_t kCopyKindCount = 11;
inline constexpr size_t kMemoryKindCount = 8;
inline constexpr size_t kSyncKindCount = 5;

/// "H2D", "DEV", "STRE": the last part of the metric's name.
std::string_view code_of(CopyKind kind);
std::string_view code_of(MemoryKind kind);
std::string_view code_of(SyncKind kind);

struct LaunchShape {
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint32_t registers_per_thread = 0;
  uint32_t static_shared_memory = 0, dynamic_shared_memory = 0;  ///< bytes per block
  uint32_t local_memory_per_thread = 0;                          ///< bytes
  auto operator<=>(const LaunchShape&) const = default;

  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
  uint64_t threads_per_block() const { return uint64_t(block[0]) * block[1] * block[2]; }
};

/// One thing that a GPU did, or that the CPU did to it. Times are on the GPU records' clock.
struct GpuOperation {
  GpuOperationKind kind = GpuOperationKind::kernel;
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;
  uint32_t graph = 0xffffffffu;  ///< the CUDA graph that it ran in, or none
  std::string name;              ///< kernels: the mangled name
  LaunchShape shape;             ///< kernels
  uint64_t bytes = 0;            ///< copies, memory sets, allocations
  CopyKind copy_kind = CopyKind::unknown;
  MemoryKind memory_kind = MemoryKind::unknown;
  SyncKind sync_kind = SyncKind::unknown;
  uint64_t address = 0;  ///< allocations and releases
};

}  // namespace fathom
