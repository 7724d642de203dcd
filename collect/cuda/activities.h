#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "cuda/cupti_table.h"
#include "cuda/gpu_file.h"

namespace fathom::collect::cuda {

/// CUPTI's activity records: the buffers they come in, and their translation into Fathom's records.
class Activities {
 public:
  Activities(const CuptiTable& cupti, GpuFile& file) : cupti_(cupti), file_(file) {}

  /// CUPTI wants room for records: null if memory is short, whereupon it drops records.
  uint8_t* take_buffer(size_t& size);
  /// CUPTI returns a buffer with `valid` bytes of records. They are kept only if `wanted`.
  void give_back(uint8_t* buffer, size_t valid, bool wanted);
  /// Writes the devices that were announced. Asks the driver for what CUPTI does not tell, and must
  /// therefore not be called while CUPTI delivers records.
  void write_devices();
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kBufferBytes = 1u << 20;
  static constexpr size_t kKeptBuffers = 32;

  void encode(const CUpti_Activity& record);
  void encode_kernel(const CUpti_Activity& record);
  void encode_copy(const CUpti_Activity& record);
  void encode_peer_copy(const CUpti_Activity& record);
  void encode_memory_set(const CUpti_Activity& record);
  void encode_memory(const CUpti_Activity& record);

  const CuptiTable& cupti_;
  GpuFile& file_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<uint8_t*> free_;                    ///< under lock_
  std::vector<CUpti_ActivityDevice5> announced_;  ///< under lock_
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace fathom::collect::cuda
