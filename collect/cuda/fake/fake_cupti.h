#pragma once
// A test double of NVIDIA's CUPTI and of the driver under it. It implements the functions that the
// collector calls, and lets a test program "use the GPU" without one.

#include <cstddef>
#include <cstdint>

extern "C" {
/// Contexts are numbered from 1. Creating one calls the collector back as the driver would.
void* fake_create_context();
void fake_destroy_context(void* context);
/// Loads `size` bytes as a GPU binary that holds one function of that name.
void fake_load_module(void* context, uint32_t module, const char* bytes, size_t size);
void fake_unload_module(void* context, uint32_t module);
/// Calls a driver function by its name, with callbacks on entry and exit, and makes the activity
/// records and samples that it would cause. Returns the correlation id.
uint32_t fake_launch(void* context, uint32_t stream, const char* kernel);
/// The same with arguments, by one of the functions that launch.
struct FakeLaunch {
  const char* function;  ///< "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"
  void* handle;          ///< of the kernel
  void** values;         ///< a pointer to each argument, or null
  void** extra;          ///< or where all of them are packed
  const char* code;      ///< a module that is loaded only within this launch, or null
  size_t code_size;
};
uint32_t fake_launch_with(void* context, const char* kernel, const FakeLaunch* launch);
uint32_t fake_graph_launch(void* context, uint32_t stream, int kernels);
uint32_t fake_copy(void* context, uint32_t stream, uint64_t bytes);
uint32_t fake_memory_set(void* context, uint32_t stream, uint64_t bytes);
uint32_t fake_allocate(void* context, uint64_t bytes);
uint32_t fake_synchronize(void* context);
}

// Behaviour that environment variables ask for:
//   FAKE_CUPTI_SUBSCRIBE=N   cuptiSubscribe returns N
//   FAKE_CUPTI_ACTIVITY=N    cuptiActivityEnable returns N
//   FAKE_CUPTI_SAMPLING=N    cuptiPCSamplingEnable returns N
//   FAKE_CUPTI_FULL=1        the hardware buffer of samples is full at the first fetch
//   FAKE_CUPTI_HANG=1        cuptiActivityFlushAll(forced) never returns

/// Samples that each launch takes, on two instructions and for two reasons.
inline constexpr uint32_t kFakeSamplesPerLaunch = 10;
inline constexpr uint64_t kFakeCrc = 0xfa4e;
