#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cuda/cupti_table.h"
#include "cuda/gpu_file.h"
#include "cuda/options.h"

namespace fathom::collect::cuda {

/// PC sampling of each context, by cupti_pcsampling.h. Samples are fetched by the collector's
/// thread now and then, before a module goes, and when a context or the program ends; identical
/// ones are added up before they are written.
class PcSampling {
 public:
  PcSampling(const CuptiTable& cupti, GpuFile& file, const Options& options)
      : cupti_(cupti), file_(file), options_(options) {}

  /// Switches sampling on for a new context; tells the user once where that fails.
  void start(CUcontext context, uint32_t id);
  /// Fetches what remains of a context that is about to go.
  void stop(CUcontext context);
  void stop_all();

  /// Fetches what CUPTI has. Does nothing while code is being loaded or unloaded on some thread,
  /// since CUPTI must not be asked then.
  void drain_all();
  /// The same for a context one of whose modules is about to be unloaded.
  void drain_before_unload(CUcontext context);
  /// A call of the program that loads or unloads code begins or ends.
  void begin_loading();
  void end_loading();

  /// Writes the samples that were fetched, added up.
  void write();

  struct Statistics {
    uint64_t fetches = 0, records = 0, names = 0, names_again = 0;
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  static constexpr size_t kPcsAtOnce = 4096;

  /// Room for the samples of `pcs` instructions, in the shape that CUPTI wants.
  struct Buffer {
    CUpti_PCSamplingData data{};
    std::vector<CUpti_PCSamplingPCData> pcs;
    std::vector<CUpti_PCSamplingStallReason> reasons;
    Buffer(size_t pc_count, size_t reason_count);
  };
  struct Context {
    CUcontext handle = nullptr;
    uint32_t id = 0;
    uint32_t period_log2 = 0;
    std::unique_ptr<Buffer> last;  ///< CUPTI fills it when sampling is switched off
    record::SamplingSummary summary{};
  };
  struct Sample {
    uint64_t crc, pc_offset;
    uint32_t function, function_index, stall_reason, correlation, context;
    bool operator==(const Sample&) const = default;
  };
  struct SampleHash {
    size_t operator()(const Sample& sample) const;
  };

  bool lock_bounded();
  size_t fetch_stall_reasons(CUcontext context);
  CUptiResult configure(Context& context);
  bool drain(Context& context);
  void take(Context& context, const CUpti_PCSamplingData& data);
  void stop(Context& context);
  Context* find(CUcontext handle);

  const CuptiTable& cupti_;
  GpuFile& file_;
  const Options& options_;
  std::atomic<int> loading_{0};  ///< calls of the program that are loading or unloading code
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  ///< guards everything below
  std::vector<std::unique_ptr<Context>> contexts_;
  std::unique_ptr<Buffer> buffer_;
  size_t reason_count_ = 0;
  bool failed_ = false, told_full_ = false;
  std::unordered_map<Sample, uint64_t, SampleHash> samples_;
  std::unordered_map<char*, uint32_t> names_;  ///< CUPTI's strings, ours to free at the end
  Statistics statistics_;
};

}  // namespace fathom::collect::cuda
