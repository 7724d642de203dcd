// The entries of GNU's and LLVM's OpenMP runtimes that begin parallel regions and meet at barriers.

#include <cstdarg>
#include <cstdint>
#include <utility>

#include "numa/openmp.h"
#include "numa/real.h"

namespace fathom::numa {
namespace {

using Body = void (*)(void*);

/// What a thread of the team executes instead of the region's function.
struct Call {
  void* first = nullptr;  ///< as in the region's data, where the runtime looks for reductions
  Region region{};
  Body body;
  void* data;
};

void run_body(void* data) {
  auto& call = *static_cast<Call*>(data);
  const InRegion in_region(call.region);
  call.body(call.data);
}

/// Begins a region by `start(body, data)`.
template <class Start>
auto run_region(Body body, void* data, Start start) {
  if (!is_recording()) return start(body, data);
  find_openmp_runtimes();
  Call call;
  if (data != nullptr) call.first = *static_cast<void**>(data);
  call.body = body;
  call.data = data;
  begin_region(call.region, reinterpret_cast<uintptr_t>(body));
  if constexpr (std::is_void_v<decltype(start(body, data))>) {
    start(run_body, &call);
    end_region(call.region);
  } else {
    const auto result = start(run_body, &call);
    end_region(call.region);
    return result;
  }
}

template <class Wait>
auto meet(const void* caller, Wait wait) {
  before_barrier(caller);
  if constexpr (std::is_void_v<decltype(wait())>) {
    wait();
    after_barrier();
  } else {
    const auto result = wait();
    after_barrier();
    return result;
  }
}

// LLVM's: the function gets pointers to what it shares, one argument for each.
using Microtask = void (*)(int32_t*, int32_t*, ...);
constexpr size_t kMaxShared = 255;

struct KmpCall {
  Region region{};
  Microtask body;
  size_t count;
  void* shared[kMaxShared];
};

template <size_t... At>
void call_with(KmpCall& call, int32_t* global, int32_t* bound, std::index_sequence<At...>) {
  call.body(global, bound, call.shared[At]...);
}

/// Those that are too many are passed and not looked at.
void call_microtask(KmpCall& call, int32_t* global, int32_t* bound) {
  if (call.count <= 8) return call_with(call, global, bound, std::make_index_sequence<8>());
  if (call.count <= 32) return call_with(call, global, bound, std::make_index_sequence<32>());
  call_with(call, global, bound, std::make_index_sequence<kMaxShared>());
}

void run_microtask(int32_t* global, int32_t* bound, void* data) {
  auto& call = *static_cast<KmpCall*>(data);
  const InRegion in_region(call.region);
  call_microtask(call, global, bound);
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

// Regions of GNU's runtime. `unsigned` and `long` are as in its interface.

FATHOM_HOOK void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  static constinit Real<void(Body, void*, unsigned, unsigned)> real{"GOMP_parallel"};
  run_region(body, data, [&](Body b, void* d) { real(b, d, threads, flags); });
}

FATHOM_HOOK unsigned GOMP_parallel_reductions(Body body, void* data, unsigned threads,
                                              unsigned flags) {
  static constinit Real<unsigned(Body, void*, unsigned, unsigned)> real{"GOMP_parallel_reductions"};
  return run_region(body, data, [&](Body b, void* d) { return real(b, d, threads, flags); });
}

FATHOM_HOOK void GOMP_parallel_sections(Body body, void* data, unsigned threads, unsigned count,
                                        unsigned flags) {
  static constinit Real<void(Body, void*, unsigned, unsigned, unsigned)> real{
      "GOMP_parallel_sections"};
  run_region(body, data, [&](Body b, void* d) { real(b, d, threads, count, flags); });
}

#define FATHOM_PARALLEL_LOOP(name)                                                                \
  FATHOM_HOOK void name(Body body, void* data, unsigned threads, long start, long end, long step, \
                        long chunk, unsigned flags) {                                             \
    static constinit Real<void(Body, void*, unsigned, long, long, long, long, unsigned)> real{    \
        #name};                                                                                   \
    run_region(body, data,                                                                        \
               [&](Body b, void* d) { real(b, d, threads, start, end, step, chunk, flags); });    \
  }
FATHOM_PARALLEL_LOOP(GOMP_parallel_loop_static)
FATHOM_PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
FATHOM_PARALLEL_LOOP(GOMP_parallel_loop_guided)
FATHOM_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
FATHOM_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define FATHOM_PARALLEL_RUNTIME_LOOP(name)                                                        \
  FATHOM_HOOK void name(Body body, void* data, unsigned threads, long start, long end, long step, \
                        unsigned flags) {                                                         \
    static constinit Real<void(Body, void*, unsigned, long, long, long, unsigned)> real{#name};   \
    run_region(body, data,                                                                        \
               [&](Body b, void* d) { real(b, d, threads, start, end, step, flags); });           \
  }
FATHOM_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
FATHOM_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
FATHOM_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define FATHOM_BARRIER(name)                            \
  FATHOM_HOOK void name() {                             \
    static constinit Real<void()> real{#name};          \
    meet(__builtin_return_address(0), [&] { real(); }); \
  }
FATHOM_BARRIER(GOMP_barrier)
FATHOM_BARRIER(GOMP_loop_end)
FATHOM_BARRIER(GOMP_sections_end)

#define FATHOM_CANCELLABLE_BARRIER(name)                              \
  FATHOM_HOOK bool name() {                                           \
    static constinit Real<bool()> real{#name};                        \
    return meet(__builtin_return_address(0), [&] { return real(); }); \
  }
FATHOM_CANCELLABLE_BARRIER(GOMP_barrier_cancel)
FATHOM_CANCELLABLE_BARRIER(GOMP_loop_end_cancel)
FATHOM_CANCELLABLE_BARRIER(GOMP_sections_end_cancel)

// LLVM's.

FATHOM_HOOK void __kmpc_fork_call(void* where, int32_t count, Microtask body, ...) {
  using Fork = void(void*, int32_t, Microtask, ...);
  static constinit Real<Fork> real{"__kmpc_fork_call"};
  KmpCall call;
  call.body = body;
  call.count = static_cast<size_t>(count);
  if (call.count > kMaxShared) __builtin_trap();  // no compiler passes so many
  va_list rest;
  va_start(rest, body);
  for (size_t i = 0; i < kMaxShared; ++i)
    call.shared[i] = i < call.count ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  find_openmp_runtimes();
  begin_region(call.region, reinterpret_cast<uintptr_t>(body));
  real(where, 1, reinterpret_cast<Microtask>(run_microtask), &call);
  end_region(call.region);
}

FATHOM_HOOK void __kmpc_barrier(void* where, int32_t thread) {
  static constinit Real<void(void*, int32_t)> real{"__kmpc_barrier"};
  meet(__builtin_return_address(0), [&] { real(where, thread); });
}

FATHOM_HOOK int32_t __kmpc_cancel_barrier(void* where, int32_t thread) {
  static constinit Real<int32_t(void*, int32_t)> real{"__kmpc_cancel_barrier"};
  return meet(__builtin_return_address(0), [&] { return real(where, thread); });
}
