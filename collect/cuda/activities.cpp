#include "cuda/activities.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "core/session.h"

namespace fathom::collect::cuda {
namespace {

using record::ChunkType;

/// CUPTI numbers "no graph" as 0; graph ids begin at 1.
uint32_t graph_or_none(uint32_t id) {
  return id == 0 ? record::kNone : id;
}

/// The record as one of CUPTI's versioned structs. Later versions only append fields, so that the
/// ones read here lie where they lie in the library's own version.
template <class T>
const T& as(const CUpti_Activity& record) {
  return reinterpret_cast<const T&>(record);
}

/// In kHz; 0 where the driver does not say.
uint32_t memory_clock(uint32_t device) {
  constexpr int kMemoryClockRate = 36;  // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  using Query = int (*)(int*, int, int);
  const auto query = reinterpret_cast<Query>(dlsym(driver, "cuDeviceGetAttribute"));
  int value = 0;
  if (query == nullptr || query(&value, kMemoryClockRate, static_cast<int>(device)) != 0) value = 0;
  dlclose(driver);
  return value > 0 ? static_cast<uint32_t>(value) : 0;
}

}  // namespace

uint8_t* Activities::take_buffer(size_t& size) {
  size = kBufferBytes;
  {
    Locked locked(lock_);
    if (!free_.empty()) {
      uint8_t* buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
  }
  auto* buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  if (buffer == nullptr) size = 0;
  return buffer;
}

void Activities::give_back(uint8_t* buffer, size_t valid, bool wanted) {
  if (buffer == nullptr) return;
  if (wanted && valid > 0) {
    Locked locked(file_.lock());
    CUpti_Activity* record = nullptr;
    while (cupti_.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
      encode(*record);
  }
  size_t dropped = 0;
  if (wanted && cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS)
    dropped_.fetch_add(dropped, std::memory_order_relaxed);
  {
    Locked locked(lock_);
    if (free_.size() < kKeptBuffers) {
      free_.push_back(buffer);
      return;
    }
  }
  std::free(buffer);
}

void Activities::encode(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return encode_kernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return encode_copy(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return encode_peer_copy(record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return encode_memory_set(record);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return encode_memory(record);
    case CUPTI_ACTIVITY_KIND_DEVICE: {
      Locked locked(lock_);
      announced_.push_back(as<CUpti_ActivityDevice5>(record));
      return;
    }
    default:
      return;
  }
}

void Activities::encode_kernel(const CUpti_Activity& record) {
  const auto& in = as<CUpti_ActivityKernel10>(record);
  const auto extent = [](int32_t value) { return static_cast<uint32_t>(value); };
  record::Kernel out{};
  out.start_ns = in.start;
  out.end_ns = in.end;
  out.name = file_.name(in.name);
  out.correlation = in.correlationId;
  out.device = in.deviceId;
  out.context = in.contextId;
  out.stream = in.streamId;
  out.grid[0] = extent(in.gridX), out.grid[1] = extent(in.gridY), out.grid[2] = extent(in.gridZ);
  out.block[0] = extent(in.blockX), out.block[1] = extent(in.blockY),
  out.block[2] = extent(in.blockZ);
  out.cluster[0] = in.clusterX, out.cluster[1] = in.clusterY, out.cluster[2] = in.clusterZ;
  out.registers_per_thread = in.registersPerThread;
  out.static_shared_memory = extent(in.staticSharedMemory);
  out.dynamic_shared_memory = extent(in.dynamicSharedMemory);
  out.shared_memory_executed = in.sharedMemoryExecuted;
  out.local_memory_per_thread = in.localMemoryPerThread;
  out.graph = graph_or_none(in.graphId);
  out.graph_node = in.graphNodeId;
  file_.out().add(ChunkType::kernel, out);
}

void Activities::encode_copy(const CUpti_Activity& record) {
  const auto& in = as<CUpti_ActivityMemcpy6>(record);
  file_.out().add(ChunkType::copy,
                  record::Copy{in.start, in.end, in.bytes, in.correlationId, in.deviceId,
                               in.contextId, in.streamId, in.copyKind, graph_or_none(in.graphId)});
}

void Activities::encode_peer_copy(const CUpti_Activity& record) {
  const auto& in = as<CUpti_ActivityMemcpyPtoP4>(record);
  file_.out().add(
      ChunkType::copy,
      record::Copy{in.start, in.end, in.bytes, in.correlationId, in.deviceId, in.contextId,
                   in.streamId, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, graph_or_none(in.graphId)});
}

void Activities::encode_memory_set(const CUpti_Activity& record) {
  const auto& in = as<CUpti_ActivityMemset4>(record);
  file_.out().add(
      ChunkType::memory_set,
      record::MemorySet{in.start, in.end, in.bytes, in.correlationId, in.deviceId, in.contextId,
                        in.streamId, in.memoryKind, in.value, graph_or_none(in.graphId), 0});
}

void Activities::encode_memory(const CUpti_Activity& record) {
  const auto& in = as<CUpti_ActivityMemory4>(record);
  const bool release = in.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  file_.out().add(ChunkType::memory_operation,
                  record::MemoryOperation{in.timestamp, in.bytes, in.address, in.correlationId,
                                          in.deviceId, in.contextId, in.streamId,
                                          static_cast<uint32_t>(in.memoryKind), release ? 1u : 0u});
}

void Activities::write_devices() {
  std::vector<CUpti_ActivityDevice5> announced;
  {
    Locked locked(lock_);
    announced.swap(announced_);
  }
  for (const auto& in : announced) {
    record::Device out{};
    out.id = in.id;
    out.compute_major = static_cast<uint16_t>(in.computeCapabilityMajor);
    out.compute_minor = static_cast<uint16_t>(in.computeCapabilityMinor);
    out.multiprocessors = in.numMultiprocessors;
    out.core_clock_khz = in.coreClockRate;
    out.memory_clock_khz = memory_clock(in.id);
    out.warp_size = in.numThreadsPerWarp;
    out.max_warps_per_multiprocessor = in.maxWarpsPerMultiprocessor;
    out.max_blocks_per_multiprocessor = in.maxBlocksPerMultiprocessor;
    out.max_registers_per_multiprocessor = in.maxRegistersPerMultiprocessor;
    out.max_registers_per_block = in.maxRegistersPerBlock;
    out.max_shared_memory_per_multiprocessor = in.maxSharedMemoryPerMultiprocessor;
    out.max_shared_memory_per_block = in.maxSharedMemoryPerBlock;
    out.max_threads_per_block = in.maxThreadsPerBlock;
    out.l2_cache_bytes = in.l2CacheSize;
    out.memory_bytes = in.globalMemorySize;
    out.memory_bandwidth_kb_s = in.globalMemoryBandwidth;
    Session::get().add_text(ChunkType::device, out, {in.name == nullptr ? "" : in.name});
  }
}

}  // namespace fathom::collect::cuda
