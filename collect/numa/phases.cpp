#include "numa/phases.h"

#include <algorithm>

#include "numa/pages.h"
#include "numa/slots.h"
#include "numa/state.h"

namespace fathom::numa {
namespace {

void raise(std::atomic<uint32_t>& value, uint32_t least) {
  uint32_t now = value.load(std::memory_order_relaxed);
  while (now < least && !value.compare_exchange_weak(now, least, std::memory_order_acq_rel)) {
  }
}

}  // namespace

void hand_in_phase(Thread& thread, uint32_t tag, bool but_alone) {
  Work& work = *thread.work;
  if (PageSlot* slots = thread.slots.load(std::memory_order_acquire))
    flush_slots(thread, slots, but_alone);
  const uint32_t first_open = work.dirty == nullptr ? 0 : first_open_phase();
  while (Share* share = work.dirty) {
    work.dirty = share->next_dirty;
    close_share(thread, *share, tag, first_open);
  }
}

void enter_phase(Thread& thread, uint32_t phase) {
  thread.creating = false;
  thread.phase.store(phase, std::memory_order_relaxed);
  thread.bound.store(phase, std::memory_order_release);
}

uint32_t before_create(Thread& thread) {
  const uint32_t phase = thread.phase.load(std::memory_order_relaxed);
  if (thread.creating) {
    hand_in_phase(thread, phase - 1);
    return phase;
  }
  hand_in_phase(thread, phase);
  enter_phase(thread, phase + kPhaseStep);
  // What it does before it creates the next one is nobody else's time.
  thread.bound.store(phase + kPhaseStep - 1, std::memory_order_release);
  thread.creating = true;
  set_parallel(thread, true);
  return phase + kPhaseStep;
}

void park(Thread& thread) {
  thread.bound.store(kNobody, std::memory_order_release);
  thread.idle_since.set(std::max<uint64_t>(cpu_time_ns(CLOCK_THREAD_CPUTIME_ID), 1));
  count_running(-1);
}

void unpark(Thread& thread) {
  const uint64_t since = thread.idle_since.get();
  if (since == 0) return;
  thread.idle_cpu_ns.add(cpu_time_ns(CLOCK_THREAD_CPUTIME_ID) - since);
  thread.idle_since.set(0);
  count_running(1);
}

void before_join(Thread& thread) {
  hand_in_phase(thread, thread.phase.load(std::memory_order_relaxed));
  park(thread);
}

void after_join(Thread& thread, const Thread* joined) {
  unpark(thread);
  set_parallel(thread, thread.index > 0);
  uint32_t phase = thread.phase.load(std::memory_order_relaxed);
  if (joined != nullptr) phase = std::max(phase, joined->phase.load(std::memory_order_acquire));
  enter_phase(thread, phase + kPhaseStep);
}

void arrive(Thread& thread, Meeting& meeting, uint32_t round) {
  const uint32_t phase = thread.phase.load(std::memory_order_relaxed);
  hand_in_phase(thread, phase, true);
  raise(meeting.latest[round & 1], phase);
  thread.bound.store(phase + kPhaseStep, std::memory_order_release);
}

void leave(Thread& thread, Meeting& meeting, uint32_t round) {
  enter_phase(thread, meeting.latest[round & 1].load(std::memory_order_acquire) + kPhaseStep);
}

}  // namespace fathom::numa
