#include "cuda/collector.h"

#include <dlfcn.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/session.h"
#include "core/thread_channel.h"
#include "cuda/api_calls.h"
#include "cuda/gpu_binaries.h"

namespace fathom::collect::cuda {
namespace {

using record::EndReason;
using record::Severity;

constexpr long kTickNs = 500'000'000;
constexpr double kExitSeconds = 60;

// Set while the collector itself calls CUPTI, whose own calls into the driver are nobody's
// business.
__attribute__((tls_model("initial-exec"))) thread_local bool inside = false;

class Inside {
 public:
  Inside() : before_(inside), errno_(errno) { inside = true; }
  ~Inside() {
    inside = before_;
    errno = errno_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
  int errno_;
};

// Waiting is timed by the calls themselves: CUPTI's own records of it make each launch of a kernel
// slower by some 0.4 microseconds (measured on an H200), even where nobody waits.
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMORY2,
};

constexpr CUpti_CallbackIdResource kResources[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_MODULE_LOADED,
    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
};

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// The library that is loaded ahead of the program tells of ends that no exit handler sees.
void hear_of_sudden_ends() {
  using Flush = void (*)(int, double);
  using Register = void (*)(Flush);
  const auto announce = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "fathom_exit_register"));
  if (announce == nullptr) return;
  announce([](int reason, double seconds) {
    auto& collector = Collector::get();
    if (reason < 0) return collector.flush(seconds);  // the program is about to be replaced
    collector.finish(static_cast<EndReason>(reason), seconds);
  });
}

}  // namespace

Collector& Collector::get() {
  static Collector* const collector = new Collector;
  return *collector;
}

void Collector::start() {
  const Inside guard;
  options_ = read_options();
  if (options_.output.empty()) return;
  const bool loaded = cupti_.load();
  auto& session = Session::get();
  if (!session.begin(options_.output, gpu_time())) return;
  pthread_atfork(nullptr, nullptr, [] { Session::get().leave_to_parent(); });
  if (prepare(loaded)) {
    has_thread_ = start_thread();
    hear_of_sudden_ends();
  }
  // After CUPTI has registered its own exit handlers, so that they come after ours.
  std::atexit([] { Collector::get().finish(EndReason::exit, kExitSeconds); });
  at_quick_exit([] { Collector::get().finish(EndReason::quick_exit, kExitSeconds); });
}

bool Collector::prepare(bool loaded) {
  auto& session = Session::get();
  if (!loaded) {
    session.message(Severity::error, 0, "NVIDIA's CUPTI cannot be used (" + cupti_.problem() + ")",
                    "install it (package cuda-cupti) or name its libcupti.so in FATHOM_CUPTI; the "
                    "program runs on unmeasured");
    return false;
  }
  if (!file_.open(session.folder() + "/gpu.fathom")) {
    session.write_failed(file_.path(), errno);
    return false;
  }
  return listen();
}

void Collector::tell(const std::string& what, CUptiResult result) {
  Session::get().message(Severity::error, static_cast<uint32_t>(result),
                         what + ": " + cupti_.describe(result), remedy(result));
}

bool Collector::listen() {
  const CUptiResult result = cupti_.cuptiSubscribe(&subscriber_, on_callback, this);
  if (result != CUPTI_SUCCESS) {
    tell("CUDA cannot be measured", result);
    return false;
  }
  for (const auto resource : kResources)
    cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, resource);
  choose_calls();
  enable_activities();
  return true;
}

/// Callback numbers differ between versions of CUPTI, names do not.
void Collector::choose_calls() {
  constexpr CUpti_CallbackId kMaxId = 4096;
  constexpr uint32_t kMaxGap = 64;
  watched_.assign(kMaxId, 0);
  launch_calls_.assign(kMaxId, LaunchCall::other);
  uint32_t gap = 0;
  for (CUpti_CallbackId id = 1; id < kMaxId && gap < kMaxGap; ++id) {
    const char* name = nullptr;
    if (cupti_.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS ||
        name == nullptr) {
      ++gap;
      continue;
    }
    gap = 0;
    const uint8_t watch = watch_for(name);
    if (watch == 0 || (watch == kLoadsCode && !options_.sampling)) continue;
    if (cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id) != CUPTI_SUCCESS)
      continue;
    watched_[id] = watch;
    launch_calls_[id] = launch_call(name);
  }
}

void Collector::enable_activities() {
  CUptiResult result = cupti_.cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_full);
  for (const auto kind : kKinds) {
    if (result != CUPTI_SUCCESS) break;
    result = cupti_.cuptiActivityEnable(kind);
  }
  if (result != CUPTI_SUCCESS) tell("the times of kernels and copies cannot be measured", result);
}

void CUPTIAPI Collector::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                     const void* data) {
  if (inside || data == nullptr || !Session::get().active()) return;
  const Inside guard;
  auto& collector = *static_cast<Collector*>(self);
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
    collector.on_call(id, *static_cast<const CUpti_CallbackData*>(data));
  else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    collector.on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
}

void Collector::on_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const uint8_t watch = id < watched_.size() ? watched_[id] : 0;
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (watch == 0) return;
  if (watch == kLoadsCode) {
    enters ? sampling_.begin_loading() : sampling_.end_loading();
    return;
  }
  const bool hands_arguments = launch_calls_[id] != LaunchCall::other;
  if (!enters && !is_wait(watch) && !hands_arguments) return;
  auto* channel = ThreadChannel::of_this_thread();
  if (channel == nullptr) return;
  if (hands_arguments && !enters) return keep_arguments(id, call, *channel);
  const uint64_t now = gpu_time();
  if (!enters) return on_wait_end(watch, call, now, *channel);
  channel->record_call(call.correlationId, kind_of(watch), call.contextUid, now);
  if (hands_arguments) return keep_arguments(id, call, *channel);
  if (is_wait(watch) && call.correlationData != nullptr) *call.correlationData = now;
}

/// A kernel's code may be loaded only within its first launch, which then ends before anybody can
/// say what its arguments are. CUPTI keeps a word for us from the start of a call to its end.
void Collector::keep_arguments(CUpti_CallbackId id, const CUpti_CallbackData& call,
                               ThreadChannel& channel) {
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (!enters && (call.correlationData == nullptr || *call.correlationData == 0)) return;
  const bool kept = arguments_.launched(launch_calls_[id], call.functionParams, call.symbolName,
                                        call.correlationId, channel);
  if (call.correlationData != nullptr) *call.correlationData = enters && !kept ? 1 : 0;
}

/// The time of a wait's start is kept in the call's word.
void Collector::on_wait_end(uint8_t watch, const CUpti_CallbackData& call, uint64_t now,
                            ThreadChannel& channel) {
  if (call.correlationData == nullptr || *call.correlationData == 0) return;
  uint32_t stream = record::kNone;
  if (names_stream(watch) && call.functionParams != nullptr) {
    const auto handle = *static_cast<const CUstream*>(call.functionParams);
    if (cupti_.cuptiGetStreamIdEx(call.context, handle, 0, &stream) != CUPTI_SUCCESS)
      stream = record::kNone;
  }
  channel.record_wait({*call.correlationData, now, call.correlationId, call.contextUid, stream,
                       static_cast<uint32_t>(watch - kWaits)});
}

void Collector::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      return on_context(resource.context);
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      return sampling_.stop(resource.context);
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      arguments_.binary_unloaded();
      if (options_.sampling) sampling_.drain_before_unload(resource.context);
      return;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED: {
      const auto* module =
          static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
      uint32_t context = record::kNone;
      cupti_.cuptiGetContextId(resource.context, &context);
      if (module == nullptr) return;
      keep_binary(cupti_, context, module->moduleId, module->pCubin, module->cubinSize);
      arguments_.binary_loaded(module->pCubin, module->cubinSize);
      return;
    }
    default:
      return;
  }
}

void Collector::on_context(CUcontext context) {
  uint32_t id = record::kNone, device = record::kNone;
  cupti_.cuptiGetContextId(context, &id);
  cupti_.cuptiGetDeviceId(context, &device);
  Session::get().add(record::ChunkType::gpu_context, record::GpuContext{id, device});
  if (options_.sampling) sampling_.start(context, id);
}

void CUPTIAPI Collector::on_buffer_wanted(uint8_t** buffer, size_t* size, size_t* records) {
  const Inside guard;
  *buffer = get().activities_.take_buffer(*size);
  *records = 0;  // as many as fit
}

void CUPTIAPI Collector::on_buffer_full(CUcontext, uint32_t, uint8_t* buffer, size_t,
                                        size_t valid) {
  const Inside guard;
  get().activities_.give_back(buffer, valid, Session::get().active());
}

uint64_t Collector::gpu_time() const {
  uint64_t now = 0;
  if (cupti_.cuptiGetTimestamp == nullptr || cupti_.cuptiGetTimestamp(&now) != CUPTI_SUCCESS)
    now = unix_time_ns();
  return now;
}

bool Collector::start_thread() {
  if (sem_init(&wake_, 0, 0) != 0) return false;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own
  const bool started = pthread_create(&thread, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  pthread_setname_np(thread, "fathom");
  pthread_detach(thread);  // it lives as long as the process
  return true;
}

void* Collector::run(void* self) {
  inside = true;
  auto& collector = *static_cast<Collector*>(self);
  for (;;) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kTickNs;
    if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
    sem_timedwait(&collector.wake_, &until);
    const uint32_t flushes = collector.flush_wanted_.load(std::memory_order_acquire);
    if (collector.end_wanted_.load(std::memory_order_acquire) != 0) {
      collector.close();
      collector.flush_done_.store(flushes, std::memory_order_release);
      collector.end_done_.store(1, std::memory_order_release);
      return nullptr;
    }
    collector.tick();
    collector.flush_done_.store(flushes, std::memory_order_release);
  }
}

void Collector::tick() {
  Session::get().modules().refresh();
  cupti_.cuptiActivityFlushAll(0);
  sampling_.drain_all();
  sampling_.write();
  int error;
  {
    Locked locked(file_.lock());
    file_.out().flush();
    error = file_.out().error();
  }
  if (error != 0) Session::get().write_failed(file_.path(), error);
  ThreadChannel::flush_all();
  activities_.write_devices();
  Session::get().flush();
}

void Collector::close() {
  auto& session = Session::get();
  sampling_.stop_all();
  cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  tick();
  if (const uint64_t dropped = activities_.dropped(); dropped > 0)
    session.message(Severity::warning, 0,
                    "CUPTI dropped " + std::to_string(dropped) + " records of GPU operations",
                    "what is reported is incomplete; record a shorter run");
  if (options_.debug) tell_about_itself();
  session.end(reason_.load(), gpu_time());
}

/// Waits for the collector's thread with nothing but what may be called in a dying process: it may
/// hold any lock, and the collector's thread may need that very lock.
void Collector::ask(std::atomic<uint32_t>& wanted, const std::atomic<uint32_t>& done,
                    double seconds) {
  const int saved = errno;
  const uint32_t ticket = wanted.fetch_add(1, std::memory_order_acq_rel) + 1;
  sem_post(&wake_);
  const uint64_t give_up = monotonic_ns() + static_cast<uint64_t>(seconds * 1e9);
  while (monotonic_ns() < give_up) {
    const uint32_t now = done.load(std::memory_order_acquire);
    if (now >= ticket || (&done == &end_done_ && now != 0)) break;
    const timespec nap{0, 200'000};
    nanosleep(&nap, nullptr);
  }
  errno = saved;
}

void Collector::flush(double seconds) {
  if (!Session::get().active() || !Session::get().is_own_process() || !has_thread_ || inside)
    return;
  ask(flush_wanted_, flush_done_, seconds);
}

void Collector::finish(EndReason reason, double seconds) {
  auto& session = Session::get();
  if (!session.active() || !session.is_own_process() || inside) return;
  reason_.store(reason);
  if (has_thread_) return ask(end_wanted_, end_done_, seconds);
  session.end(reason, gpu_time());
}

void Collector::tell_about_itself() const {
  const auto& sampling = sampling_.statistics();
  constexpr int kTrials = 1000;
  const uint64_t begin = monotonic_ns();
  for (int i = 0; i < kTrials; ++i) gpu_time();
  const double ns = static_cast<double>(monotonic_ns() - begin) / kTrials;
  char text[256];
  std::snprintf(text, sizeof text,
                "debug: %s, %llu fetches of samples, %llu records, %llu names, time stamp %.0f ns",
                cupti_.path().c_str(), static_cast<unsigned long long>(sampling.fetches),
                static_cast<unsigned long long>(sampling.records),
                static_cast<unsigned long long>(sampling.names), ns);
  say(text, "");
}

}  // namespace fathom::collect::cuda

/// The driver calls this when CUDA_INJECTION64_PATH names this library.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  fathom::collect::cuda::Collector::get().start();
  return 1;
}
