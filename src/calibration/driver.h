#pragma once
// The CUDA driver, loaded at run time and declared here, so that neither the build nor `fathom`
// needs CUDA.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

using DeviceAddress = uint64_t;

/// Numbers of CUdevice_attribute in cuda.h.
enum class DeviceAttribute : int {
  registers_per_block = 12,
  multiprocessors = 16,
  clock_khz = 13,
  l2_bytes = 38,
  max_threads_per_multiprocessor = 39,
  compute_major = 75,
  compute_minor = 76,
  shared_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  shared_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106
};

struct GridShape {
  uint32_t blocks = 1, threads = 32, shared = 0;  ///< one dimension; dynamic shared memory in bytes
};

/// One GPU with its primary context current. Calls that fail after `open` end in an Error that
/// names the call.
class CudaDriver {
 public:
  /// Errors: no libcuda.so.1, no such device, a driver that is too old.
  static Result<CudaDriver> open(int device);
  CudaDriver(CudaDriver&& other) noexcept;
  CudaDriver& operator=(CudaDriver&&) = delete;
  CudaDriver(const CudaDriver&) = delete;
  ~CudaDriver();

  const std::string& name() const { return name_; }
  int attribute(DeviceAttribute attribute) const;
  unsigned compute() const;     ///< 90
  std::string pci_bus() const;  ///< "0000:1b:00.0"

  /// PTX to machine code for this GPU. The error holds what the compiler said.
  Result<std::vector<uint8_t>> compile(const std::string& ptx) const;
  /// Loads machine code; the function lives as long as the driver.
  Result<void*> load(const std::vector<uint8_t>& cubin, const std::string& function);
  /// Allows a function all dynamic shared memory that a block can have.
  Result<Done> allow_shared(void* function, uint32_t bytes) const;

  Result<DeviceAddress> allocate(size_t bytes);
  void free(DeviceAddress address);
  /// These three end when the bytes are there: kernels run on a stream that waits for nothing.
  Result<Done> fill(DeviceAddress address, uint8_t value, size_t bytes) const;
  Result<Done> write(DeviceAddress to, const void* from, size_t bytes) const;
  Result<Done> read(void* to, DeviceAddress from, size_t bytes) const;

  /// Starts a kernel. `arguments` are 64 bits each, also where the kernel takes 32 of them.
  Result<Done> launch(void* function, GridShape shape,
                      const std::vector<uint64_t>& arguments) const;
  Result<Done> wait() const;
  /// Microseconds that the GPU takes for what `launches` launches put on the stream.
  Result<double> time_us(void* function, GridShape shape, const std::vector<uint64_t>& arguments,
                         int launches) const;
  /// The same, from a graph of `launches` nodes that was started once before.
  Result<double> graph_time_us(void* function, GridShape shape,
                               const std::vector<uint64_t>& arguments, int launches) const;

 private:
  struct Functions;
  CudaDriver() = default;
  Result<Done> check(int status, const char* call) const;
  Result<Done> start(int device);

  Functions* cuda_ = nullptr;
  int device_ = 0;
  std::string name_;
  void* stream_ = nullptr;
  void *begin_ = nullptr, *end_ = nullptr;
  std::vector<void*> modules_;
  bool retained_ = false;
};

/// A buffer that is freed at the end of its scope.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> make(CudaDriver& driver, size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : driver_(other.driver_), address_(other.address_), bytes_(other.bytes_) {
    other.address_ = 0;
  }
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (address_) driver_->free(address_);
  }
  DeviceAddress address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(CudaDriver* driver, DeviceAddress address, size_t bytes)
      : driver_(driver), address_(address), bytes_(bytes) {}
  CudaDriver* driver_;
  DeviceAddress address_;
  size_t bytes_;
};

}  // namespace fathom
