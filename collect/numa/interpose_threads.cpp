// Threads: who creates whom, where, and who waits for whom.

#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <type_traits>

#include "numa/objects.h"
#include "numa/openmp.h"
#include "numa/phases.h"
#include "numa/real.h"
#include "numa/thread.h"

namespace fathom::numa {
namespace {

FATHOM_REAL_VERSION(pthread_create, "GLIBC_2.34");
FATHOM_REAL(pthread_join);
FATHOM_REAL(pthread_tryjoin_np);
FATHOM_REAL(pthread_timedjoin_np);
FATHOM_REAL(pthread_clockjoin_np);
FATHOM_REAL(thrd_create);
FATHOM_REAL(thrd_join);

/// What the tables of the runtime and its calls need of a thread's stack.
constexpr size_t kStackNeeded = 192u << 10, kSmallStack = 1u << 20;

struct Start {
  uintptr_t routine;  ///< a function, of the type that its creator takes
  void* argument;
  Thread* thread;
};

Start begin(void* data) {
  auto* start = static_cast<Start*>(data);
  const Start copy = *start;
  const Inside inside;
  delete start;
  if (copy.thread == nullptr)
    begin_passing_by();
  else if (is_recording())
    adopt_thread(*copy.thread);
  return copy;
}

void* run(void* data) {
  const Start start = begin(data);
  return reinterpret_cast<void* (*)(void*)>(start.routine)(start.argument);
}

/// A thread of C11, whose routine returns an int.
int run_c11(void* data) {
  const Start start = begin(data);
  return reinterpret_cast<thrd_start_t>(start.routine)(start.argument);
}

/// A program that chose a small stack did not reckon with the runtime.
const pthread_attr_t* with_room(const pthread_attr_t* wanted, pthread_attr_t& copy) {
  if (wanted == nullptr) return nullptr;
  size_t size = 0;
  void* low = nullptr;
  if (pthread_attr_getstacksize(wanted, &size) != 0 || size >= kSmallStack) return wanted;
  size_t own_size = 0;
  if (pthread_attr_getstack(wanted, &low, &own_size) == 0 && low != nullptr &&
      reinterpret_cast<uintptr_t>(low) + own_size != 0)
    return wanted;  // its own memory
  std::memcpy(&copy, wanted, sizeof copy);
  return pthread_attr_setstacksize(&copy, size + kStackNeeded) == 0 ? &copy : wanted;
}

/// Null: nothing can be done for it. Where nothing is measured it has no Thread.
Start* prepare(uintptr_t routine, void* argument, const void* caller) {
  const Hook hook;
  if (!hook && is_recording()) return nullptr;
  auto* start = new (std::nothrow) Start{routine, argument, nullptr};
  if (start == nullptr || !hook) return start;
  const bool is_openmp = is_openmp_runtime(caller);
  uint32_t phase = hook->phase.load(std::memory_order_relaxed);
  if (!is_openmp) phase = before_create(*hook);
  const auto kind = is_openmp ? record::ThreadKind::openmp : record::ThreadKind::pthread;
  const uintptr_t function = is_openmp ? 0 : routine;
  start->thread = take_successor(*hook, kind, function);
  if (start->thread == nullptr)
    start->thread = prepare_thread(&*hook, kind, function, current_call_path(*hook));
  if (start->thread == nullptr) {
    delete start;
    return nullptr;
  }
  start->thread->phase.store(phase, std::memory_order_relaxed);
  start->thread->bound.store(phase, std::memory_order_release);
  return start;
}

/// Has `real(start)` create the thread, which returns 0 if it did.
template <class Create>
int create(Start* start, bool is_detached, const pthread_t* handle, Create real) {
  Thread* thread = start->thread;
  const int result = real(start);
  if (result != 0) {
    const Inside inside;
    if (thread != nullptr) discard_thread(*thread);
    delete start;
    return result;
  }
  if (thread == nullptr) return 0;
  thread->handle.store(*handle, std::memory_order_relaxed);
  if (!is_detached) thread->joinable.store(true, std::memory_order_release);
  return 0;
}

template <class Join>
int join(pthread_t handle, Join real) {
  Thread* joined = nullptr;
  {
    const Hook hook;
    if (hook) {
      joined = find_joinable(handle);
      before_join(*hook);
    }
  }
  const int result = real();
  const Hook hook;
  if (!hook) return result;
  if (result == 0 && joined != nullptr) {
    joined->joinable.store(false, std::memory_order_release);
    note_joined(*hook, *joined);
  }
  if (result == 0) {
    after_join(*hook, joined);
  } else {
    unpark(*hook);
    hook->bound.store(hook->phase.load(std::memory_order_relaxed), std::memory_order_release);
  }
  return result;
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK int pthread_create(pthread_t* handle, const pthread_attr_t* attributes,
                               void* (*routine)(void*), void* argument) noexcept {
  if (this_thread.depth > 0) return real_pthread_create(handle, attributes, routine, argument);
  pthread_attr_t roomy;
  attributes = with_room(attributes, roomy);
  Start* start =
      prepare(reinterpret_cast<uintptr_t>(routine), argument, __builtin_return_address(0));
  if (start == nullptr) return real_pthread_create(handle, attributes, routine, argument);
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
  return create(start, detached != PTHREAD_CREATE_JOINABLE, handle,
                [&](Start* with) { return real_pthread_create(handle, attributes, run, with); });
}

// The C library's threads of C11 call the functions above without coming by here.
FATHOM_HOOK int thrd_create(thrd_t* handle, thrd_start_t routine, void* argument) {
  static_assert(thrd_success == 0 && std::is_same_v<thrd_t, pthread_t>);
  if (this_thread.depth > 0) return real_thrd_create(handle, routine, argument);
  Start* start =
      prepare(reinterpret_cast<uintptr_t>(routine), argument, __builtin_return_address(0));
  if (start == nullptr) return real_thrd_create(handle, routine, argument);
  return create(start, false, handle,
                [&](Start* with) { return real_thrd_create(handle, run_c11, with); });
}

FATHOM_HOOK int thrd_join(thrd_t handle, int* value) {
  if (this_thread.depth > 0) return real_thrd_join(handle, value);
  return join(handle, [&] { return real_thrd_join(handle, value); });
}

FATHOM_HOOK int pthread_join(pthread_t handle, void** value) {
  if (this_thread.depth > 0) return real_pthread_join(handle, value);
  return join(handle, [&] { return real_pthread_join(handle, value); });
}

FATHOM_HOOK int pthread_tryjoin_np(pthread_t handle, void** value) noexcept {
  return join(handle, [&] { return real_pthread_tryjoin_np(handle, value); });
}

FATHOM_HOOK int pthread_timedjoin_np(pthread_t handle, void** value, const timespec* until) {
  return join(handle, [&] { return real_pthread_timedjoin_np(handle, value, until); });
}

FATHOM_HOOK int pthread_clockjoin_np(pthread_t handle, void** value, clockid_t clock,
                                     const timespec* until) {
  return join(handle, [&] { return real_pthread_clockjoin_np(handle, value, clock, until); });
}
