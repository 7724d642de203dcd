#pragma once

#include <atomic>
#include <cstdint>

#include "numa/phases.h"
#include "numa/thread.h"

namespace fathom::numa {

/// Whether code belongs to an OpenMP runtime: what it does with locks and threads is its own
/// business and not the program's.
bool is_openmp_runtime(const void* address);
/// Looks for OpenMP runtimes among the modules.
void find_openmp_runtimes();

/// One run of a parallel region, on the stack of the thread that begins it.
struct Region {
  uintptr_t function;
  uint32_t phase;                ///< that its threads begin in
  std::atomic<uint32_t> latest;  ///< that one of them has ended in
  Meeting barriers;
};

/// The thread that begins a region, before and after.
void begin_region(Region& region, uintptr_t function);
void end_region(Region& region);

/// While a thread executes a region's function.
class InRegion {
 public:
  explicit InRegion(Region& region);
  ~InRegion();
  InRegion(const InRegion&) = delete;
  InRegion& operator=(const InRegion&) = delete;

 private:
  Region& region_;
  Region* outer_ = nullptr;
  uint32_t outer_round_ = 0;
  bool entered_ = false, was_idle_ = false;
};

/// Around a barrier of the region's threads, which `caller` calls.
void before_barrier(const void* caller);
void after_barrier();

}  // namespace fathom::numa
