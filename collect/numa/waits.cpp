#include "numa/waits.h"

#include "numa/modules.h"
#include "numa/objects.h"
#include "numa/slots.h"

namespace fathom::numa {
namespace {

/// C++'s condition variables and the like wait in a library for the code that called that.
uintptr_t place_of_wait(Thread& thread, const void* caller) {
  const uintptr_t call = reinterpret_cast<uintptr_t>(caller) - 1;
  if (is_instrumented(call)) return call;
  const auto* stack = current_stack(thread);
  if (stack == nullptr) return call;
  for (size_t i = 0; i < stack->size; ++i)
    if (is_instrumented(stack->frames[i])) return stack->frames[i];
  return call;
}

}  // namespace

void note_wait(Thread& thread, const void* caller) {
  thread.work->places.add(record::kNone, place_of_wait(thread, caller), false, 1);
}

void begin_wait(Counter Thread::*waits, const void* caller) {
  const Hook hook;
  if (!hook) return;
  ((*hook).*waits).add(1);
  if (waits != &Thread::semaphore_waits) note_wait(*hook, caller);  // these make no score
  // A thread that waits often has nothing left to look at when it looks around.
  Work& work = *hook->work;
  if (work.waited_in == work.epoch) return flush_slots(*hook, __fathom_numa_table, true);
  work.waited_in = work.epoch;
  look_around_slots(*hook);
}

void end_wait(uint64_t since_ns) {
  const Hook hook;
  if (hook) hook->wait_ns.add(time_ns() - since_ns);
}

}  // namespace fathom::numa
