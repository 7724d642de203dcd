#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/thread_channel.h"
#include "cuda/activities.h"
#include "cuda/cupti_table.h"
#include "cuda/gpu_file.h"
#include "cuda/launch_arguments.h"
#include "cuda/options.h"
#include "cuda/pc_sampling.h"

namespace fathom::collect::cuda {

/// The CUDA back end: listens to CUPTI, and has a thread of its own that fetches and writes.
/// There is one, and it is never destroyed.
class Collector {
 public:
  static Collector& get();

  /// Called once, when the driver loads this library. Whatever fails is told to the user in one
  /// line; the program runs on.
  void start();
  /// Has everything written that was collected so far; waits no longer than `seconds`.
  void flush(double seconds);
  /// The same, and stops collecting.
  void finish(record::EndReason reason, double seconds);

 private:
  Collector() : activities_(cupti_, file_), arguments_(file_), sampling_(cupti_, file_, options_) {}

  bool prepare(bool loaded);
  bool listen();
  void tell(const std::string& what, CUptiResult result);
  void choose_calls();
  void enable_activities();
  bool start_thread();

  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data);
  static void CUPTIAPI on_buffer_wanted(uint8_t** buffer, size_t* size, size_t* records);
  static void CUPTIAPI on_buffer_full(CUcontext context, uint32_t stream, uint8_t* buffer,
                                      size_t size, size_t valid);
  void on_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void keep_arguments(CUpti_CallbackId id, const CUpti_CallbackData& call, ThreadChannel& channel);
  void on_wait_end(uint8_t watch, const CUpti_CallbackData& call, uint64_t now,
                   ThreadChannel& channel);
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource);
  void on_context(CUcontext context);

  static void* run(void* self);
  void tick();
  void close();
  void ask(std::atomic<uint32_t>& wanted, const std::atomic<uint32_t>& done, double seconds);
  uint64_t gpu_time() const;
  void tell_about_itself() const;

  CuptiTable cupti_;
  Options options_;
  GpuFile file_;
  Activities activities_;
  LaunchArguments arguments_;
  PcSampling sampling_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<uint8_t> watched_;          ///< by callback id: 0, kLoadsCode, or a record::ApiKind
  std::vector<LaunchCall> launch_calls_;  ///< by callback id

  bool has_thread_ = false;
  sem_t wake_{};
  std::atomic<uint32_t> flush_wanted_{0}, flush_done_{0}, end_wanted_{0}, end_done_{0};
  std::atomic<record::EndReason> reason_{record::EndReason::exit};
};

}  // namespace fathom::collect::cuda
