#include "numa/openmp.h"

#include <link.h>

#include <cstring>

#include "numa/modules.h"
#include "numa/waits.h"

namespace fathom::numa {
namespace {

constexpr size_t kMaxRanges = 16;
struct Range {
  std::atomic<uintptr_t> low, high;
};
Range ranges[kMaxRanges];
std::atomic<size_t> range_count{0};
std::atomic<unsigned long long> modules_added{0};

bool is_openmp_library(const char* path) {
  if (path == nullptr) return false;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* stem : {"libgomp", "libomp.so", "libomp-", "libiomp5"})
    if (std::strncmp(name, stem, std::strlen(stem)) == 0) return true;
  return false;
}

int look_at_module(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_adds == modules_added.load(std::memory_order_relaxed)) return 1;
  if (!is_openmp_library(info->dlpi_name)) return 0;
  const auto [low, high] = range_of(*info);
  const size_t count = range_count.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i)
    if (ranges[i].low.load(std::memory_order_relaxed) == low) return 0;
  if (count == kMaxRanges) return 0;
  ranges[count].low.store(low, std::memory_order_relaxed);
  ranges[count].high.store(high, std::memory_order_relaxed);
  range_count.store(count + 1, std::memory_order_release);
  return 0;
}

int count_modules(dl_phdr_info* info, size_t, void* added) {
  *static_cast<unsigned long long*>(added) = info->dlpi_adds;
  return 1;
}

}  // namespace

void find_openmp_runtimes() {
  static SpinLock lock;
  const Inside inside;
  Held held(lock);
  unsigned long long added = 0;
  dl_iterate_phdr(look_at_module, nullptr);
  dl_iterate_phdr(count_modules, &added);
  modules_added.store(added, std::memory_order_relaxed);
}

bool is_openmp_runtime(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (size_t i = 0, n = range_count.load(std::memory_order_acquire); i < n; ++i)
    if (at >= ranges[i].low.load(std::memory_order_relaxed) &&
        at < ranges[i].high.load(std::memory_order_relaxed))
      return true;
  return false;
}

void begin_region(Region& region, uintptr_t function) {
  region.function = function;
  const Hook hook;
  if (!hook) return;
  const uint32_t phase = hook->phase.load(std::memory_order_relaxed);
  hand_in_phase(*hook, phase);
  region.phase = phase + kPhaseStep;
  region.latest.store(region.phase, std::memory_order_relaxed);
  enter_phase(*hook, region.phase);
  set_parallel(*hook, true);
}

void end_region(Region& region) {
  const Hook hook;
  if (!hook) return;
  unpark(*hook);
  set_parallel(*hook, hook->index > 0);
  enter_phase(*hook, region.latest.load(std::memory_order_acquire) + kPhaseStep);
}

InRegion::InRegion(Region& region) : region_(region) {
  const Hook hook;
  if (!hook) return;
  entered_ = true;
  outer_ = hook->region;
  outer_round_ = hook->region_round;
  was_idle_ = hook->idle_since.get() != 0 ||
              (hook->kind == record::ThreadKind::openmp && hook->region == nullptr);
  unpark(*hook);
  hook->region = &region;
  hook->region_round = 0;
  if (hook->kind == record::ThreadKind::openmp && hook->start_address.load() == 0)
    hook->start_address.store(region.function, std::memory_order_relaxed);
  if (hook->phase.load(std::memory_order_relaxed) == region.phase) return;
  hand_in_phase(*hook, hook->phase.load(std::memory_order_relaxed));
  enter_phase(*hook, region.phase);
}

InRegion::~InRegion() {
  const Hook hook;
  if (!hook || !entered_) return;
  const uint32_t phase = hook->phase.load(std::memory_order_relaxed);
  hand_in_phase(*hook, phase);
  uint32_t latest = region_.latest.load(std::memory_order_relaxed);
  while (latest < phase && !region_.latest.compare_exchange_weak(latest, phase)) {
  }
  hook->region = outer_;
  hook->region_round = outer_round_;
  // Workers wait for the next region, and the one that began this for the others: inside the
  // OpenMP runtime, which may well spin.
  park(*hook);
}

void before_barrier(const void* caller) {
  const Hook hook;
  if (!hook) return;
  hook->barrier_waits.add(1);
  note_wait(*hook, caller);
  if (hook->region != nullptr)
    arrive(*hook, hook->region->barriers, hook->region_round);
  else
    hand_in_phase(*hook, hook->phase.load(std::memory_order_relaxed));
  hook->barrier_start_ns = time_ns();
  hook->barrier_start_cpu = cpu_time_ns(CLOCK_THREAD_CPUTIME_ID);
}

void after_barrier() {
  const Hook hook;
  if (!hook || hook->barrier_start_ns == 0) return;
  hook->wait_ns.add(time_ns() - hook->barrier_start_ns);
  hook->idle_cpu_ns.add(cpu_time_ns(CLOCK_THREAD_CPUTIME_ID) - hook->barrier_start_cpu);
  hook->barrier_start_ns = 0;
  if (hook->region != nullptr)
    leave(*hook, hook->region->barriers, hook->region_round++);
  else
    enter_phase(*hook, hook->phase.load(std::memory_order_relaxed) + kPhaseStep);
}

}  // namespace fathom::numa
