#include "numa/collector.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/session.h"
#include "numa/heap.h"
#include "numa/modules.h"
#include "numa/objects.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/recorder.h"
#include "numa/slots.h"
#include "numa/snapshot.h"
#include "numa/thread.h"

namespace fathom::numa {
namespace {

using collect::Session;
using record::EndReason;

constexpr uint64_t kTickNs = 10'000'000, kSamplingTickNs = 1'000'000;
constexpr uint64_t kSnapshotNs = 5'000'000'000;
constexpr uint64_t kSnapshotShare = 50;  ///< a snapshot may take one part in so many of the time
constexpr double kExitSeconds = 60;
constexpr size_t kStackBytes = 512u << 10;

void nap(uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

/// Every other thread has seen what this one wrote before, and this one will see what they did.
void fence_all_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) nap(2'000'000);
}

/// The library that is loaded ahead of the program tells of ends that no exit handler sees.
void hear_of_sudden_ends() {
  using Flush = void (*)(int, double);
  using Register = void (*)(Flush);
  const auto announce = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "fathom_exit_register"));
  if (announce == nullptr) return;
  announce([](int reason, double seconds) {
    if (reason < 0) return Collector::get().flush(seconds);  // the program is about to be replaced
    Collector::get().finish(static_cast<EndReason>(reason), seconds);
  });
}

void leave_to_parent() {
  recording.store(false, std::memory_order_release);
  epoch.store(kClosed, std::memory_order_release);
  Session::get().leave_to_parent();
  this_thread = {nullptr, this_thread.depth, true};
  abandon_own_heap();
}

bool any_thread_runs() {
  bool any = false;
  for_each_running([&](Thread&) { any = true; });
  return any;
}

/// Threads that still run do not come to the runtime for what is in their tables: that is taken
/// from them.
void take_from_running_threads() {
  for_each_running([](Thread& thread) {
    constexpr int kPatience = 100;
    for (int i = 0; thread.busy.load(std::memory_order_acquire) != 0; ++i) {
      if (i == kPatience) return;
      nap(1'000'000);
    }
    hand_in_phase(thread, thread.phase.load(std::memory_order_relaxed));
  });
}

}  // namespace

Collector& Collector::get() {
  static auto* const collector = new Collector;
  return *collector;
}

void Collector::start() {
  const Inside inside;
  begin_passing_by();
  options() = read_options();
  if (!options().enabled) return;
  auto& session = Session::get();
  if (!session.begin(options().output, collect::unix_time_ns())) return;
  const std::string path = session.folder() + "/numa.fathom";
  if (!recorder().open(path)) {
    session.write_failed(path, recorder().out().error());
    return;
  }
  reserve_own_heap();
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  time_ns();
  Thread* main = prepare_thread(nullptr, record::ThreadKind::main, 0, record::kNone);
  if (main == nullptr) return;
  adopt_thread(*main);
  pthread_atfork(nullptr, nullptr, leave_to_parent);
  next_snapshot_ns_ = kSnapshotNs;
  recording.store(true, std::memory_order_release);
  has_thread_ = start_thread();
  hear_of_sudden_ends();
  std::atexit([] { Collector::get().finish(EndReason::exit, kExitSeconds); });
  at_quick_exit([] { Collector::get().finish(EndReason::quick_exit, kExitSeconds); });
}

bool Collector::start_thread() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own
  const bool started = pthread_create(&thread, &attributes, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

void* Collector::run(void* self) {
  const Inside inside;
  pthread_setname_np(pthread_self(), "fathom");
  auto& collector = *static_cast<Collector*>(self);
  for (;;) {
    collector.wait_for_request(options().sampling > 0 ? kSamplingTickNs : kTickNs);
    const uint32_t flushes = collector.flush_wanted_.load(std::memory_order_acquire);
    if (collector.end_wanted_.load(std::memory_order_acquire) != 0) {
      collector.close();
      collector.end_done_.store(1, std::memory_order_release);
      return nullptr;
    }
    if (!any_thread_runs()) {
      // The main thread has left by pthread_exit and the others have ended: the process ends with
      // its last thread, which must not be this one for ever.
      collector.has_thread_.store(false, std::memory_order_release);
      return nullptr;
    }
    collector.tick();
    if (flushes == collector.flush_done_.load(std::memory_order_relaxed)) continue;
    write_snapshot(false);
    Session::get().flush();
    collector.flush_done_.store(flushes, std::memory_order_release);
  }
}

void Collector::wait_for_request(uint64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  const uint32_t seen = requests_.load(std::memory_order_acquire);
  if (flush_wanted_.load() != flush_done_.load() || end_wanted_.load() != 0) return;
  syscall(SYS_futex, &requests_, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

void Collector::tick() {
  interval.fetch_add(1, std::memory_order_relaxed);
  next_epoch();
  call_threads(epoch.load(std::memory_order_relaxed));
  const uint64_t before = time_ns();
  if (before < next_snapshot_ns_) return;
  write_snapshot(false);
  auto& session = Session::get();
  session.modules().refresh();
  if (const int error = recorder().out().error(); error != 0)
    session.write_failed(session.folder() + "/numa.fathom", error);
  session.flush();
  const uint64_t now = time_ns();
  next_snapshot_ns_ = now + std::max(kSnapshotNs, (now - before) * kSnapshotShare);
}

void Collector::close() {
  recording.store(false, std::memory_order_release);
  epoch.store(kClosed, std::memory_order_release);
  clear_slots();
  fence_all_threads();
  take_from_running_threads();
  write_snapshot(true);
  auto& session = Session::get();
  if (const int error = recorder().out().error(); error != 0)
    session.write_failed(session.folder() + "/numa.fathom", error);
  session.end(reason_.load(), collect::unix_time_ns());
}

/// Waits for the collector's thread with nothing but what may be called in a dying process.
void Collector::ask(std::atomic<uint32_t>& wanted, const std::atomic<uint32_t>& done,
                    double seconds) {
  const uint32_t ticket = wanted.fetch_add(1, std::memory_order_acq_rel) + 1;
  requests_.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &requests_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  const uint64_t give_up = time_ns() + static_cast<uint64_t>(seconds * 1e9);
  while (time_ns() < give_up) {
    const uint32_t now = done.load(std::memory_order_acquire);
    if (now >= ticket || (&done == &end_done_ && now != 0)) break;
    nap(200'000);
  }
}

void Collector::flush(double seconds) {
  if (!is_recording() || !Session::get().is_own_process() || !has_thread_) return;
  const Inside inside;
  if (Thread* thread = this_thread.thread; thread != nullptr && this_thread.depth == 1) {
    const Working working(*thread);
    flush_slots(*thread, __fathom_numa_table);
  }
  ask(flush_wanted_, flush_done_, seconds);
}

void Collector::finish(EndReason reason, double seconds) {
  if (!is_recording() || !Session::get().is_own_process()) return;
  const Inside inside;
  reason_.store(reason);
  if (has_thread_) return ask(end_wanted_, end_done_, seconds);
  close();
}

__attribute__((constructor(101))) static void start_measuring() {
  Collector::get().start();
}

}  // namespace fathom::numa

extern "C" __attribute__((visibility("default"))) void __fathom_numa_module(const void* address) {
  fathom::numa::note_module(address);
}
