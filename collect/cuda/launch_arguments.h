#pragma once

#include <cuda.h>
#include <pthread.h>

#include <array>
#include <string_view>
#include <vector>

#include "core/node_map.h"
#include "core/thread_channel.h"
#include "cuda/gpu_file.h"
#include "cuda/parameter_layouts.h"

namespace fathom::collect::cuda {

/// How a function of the driver API is told a kernel's arguments.
enum class LaunchCall : uint8_t { other, plain, cooperative, extensible };
LaunchCall launch_call(std::string_view function);

/// Keeps the arguments of launches: each set of values of a kernel once, and for each launch which
/// set it had. It calls nothing of the driver: sizes of parameters come from the GPU binaries, and
/// sizes of buffers from the recorded allocations, afterwards.
///
/// Bounded: so many bytes of a launch, sets of a kernel, and sets of the process. Launches beyond
/// are recorded without their arguments.
class LaunchArguments {
 public:
  static constexpr size_t kMostWords = 64;  ///< of 8 bytes, of one launch
  static constexpr uint32_t kMostSetsOfKernel = 64;
  static constexpr uint32_t kMostSets = 16384;

  explicit LaunchArguments(GpuFile& file) : file_(file) {}

  void binary_loaded(const void* cubin, size_t size);
  /// Handles of functions may come again with another meaning.
  void binary_unloaded();

  /// A launch begins. `parameters` is what the driver function was given (functionParams of the
  /// callback), `kernel` the mangled name; either may be null. False: no binary that was loaded so
  /// far describes the kernel.
  bool launched(LaunchCall call, const void* parameters, const char* kernel, uint32_t correlation,
                ThreadChannel& channel);

 private:
  struct Handed {
    CUfunction function = nullptr;
    void* const* values = nullptr;  ///< a pointer to each argument
    void* const* extra = nullptr;   ///< or all of them in one buffer
  };
  /// A piece of a parameter, of at most 8 bytes.
  struct Word {
    uint64_t value = 0;
    uint16_t position = 0, offset = 0;
    uint8_t bytes = 0;
  };
  using Words = std::array<Word, kMostWords>;

  static Handed handed(LaunchCall call, const void* parameters);
  uint32_t layout_of(CUfunction function, const char* kernel);
  static size_t gather(const ParameterLayout& layout, const Handed& handed, Words& words);
  uint32_t set_of(uint32_t layout, const char* kernel, const Words& words, size_t count);

  GpuFile& file_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  ///< guards what follows; before file_'s
  ParameterLayouts layouts_;
  NodeMap by_function_;  ///< CUfunction -> layout, or kUnknown
  NodeMap sets_;
  std::vector<uint32_t> sets_of_layout_;
  uint32_t next_set_ = 0;
};

}  // namespace fathom::collect::cuda
