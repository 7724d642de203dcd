#include "core/unwinder.h"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FATHOM_UNCHECKED __attribute__((no_sanitize("address", "thread"), noinline))
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FATHOM_UNCHECKED __attribute__((no_sanitize("address", "thread"), noinline))
#endif
#endif
#ifndef FATHOM_UNCHECKED
#define FATHOM_UNCHECKED
#endif

namespace fathom::collect {
namespace {

uint64_t mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

/// Other frames' slots are poisoned for the sanitizers, and read here on purpose.
FATHOM_UNCHECKED uintptr_t read_word(uintptr_t address) {
  return *reinterpret_cast<const volatile uintptr_t*>(address);
}

}  // namespace

Unwinder::Unwinder() {
  const int saved = errno;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0)
      thread_stack_ = {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
    pthread_attr_destroy(&attributes);
  }
  sets_ = static_cast<Set*>(std::calloc(kSets, sizeof(Set)));
  errno = saved;
}

Unwinder::~Unwinder() {
  std::free(sets_);
  std::free(copy_);
}

void Unwinder::forget() {
  if (sets_ != nullptr) std::fill(sets_, sets_ + kSets, Set{});
  spare_ = {};
}

const Recipe& Unwinder::recipe_of(const Registers& at) {
  const uint64_t key = uint64_t(at.pc) << 1 | (at.exact ? 1 : 0);
  Set& set = sets_ != nullptr ? sets_[mix(key) >> 20 & (kSets - 1)] : spare_;
  for (size_t i = 0; i < Set::kWays; ++i)
    if (set.keys[i] == key) return set.recipes[i];
  const size_t way = next_way_++ % Set::kWays;
  set.keys[way] = key;
  set.recipes[way] = find_recipe(at.exact ? at.pc : at.pc - 1);
  return set.recipes[way];
}

bool Unwinder::load(uintptr_t address, uintptr_t& value) const {
  if (!stack_.contains(address, sizeof value) || address % sizeof value != 0) return false;
  value = read_word(address + displacement_);
  return true;
}

/// `all`: follows all registers, and not only rsp and rbp.
bool Unwinder::caller(const Recipe& recipe, bool all, Registers& at) const {
  uintptr_t cfa = at[recipe.cfa_base] + static_cast<intptr_t>(recipe.cfa_offset);
  if (recipe.cfa_in_memory && !load(cfa, cfa)) return false;
  if (cfa <= at[Base::rsp]) return false;  // a caller's frame lies above
  const auto load_from = [&](Recipe::Place place, uintptr_t& value) {
    const uintptr_t base = place.base == Base::cfa ? cfa : at[place.base];
    return load(base + static_cast<intptr_t>(place.offset), value);
  };
  uintptr_t pc = 0;
  if (!load_from(recipe.return_address, pc)) return false;
  const size_t count = all ? recipe.saved_count : recipe.saves_rbp ? 1 : 0;
  uintptr_t values[kRegisters]{};  // the old ones are needed until all are loaded
  for (size_t i = 0; i < count; ++i)
    if (recipe.saved[i].base != Base::none && !load_from(recipe.saved[i], values[i])) return false;
  for (size_t i = 0; i < count; ++i) at[recipe.saved[i].reg] = values[i];
  at[Base::rsp] = cfa;
  at.pc = pc;
  at.exact = recipe.signal_frame;
  return true;
}

/// Code without unwind tables, as just-in-time compilers make it, often keeps the chain of frame
/// pointers. Where rbp holds something else, what is found is no code: nothing that a module calls
/// without tables lies outside of the modules.
bool Unwinder::caller_by_frame_pointer(const Recipe& recipe, Registers& at) {
  const bool from_module = recipe.in_module;
  const uintptr_t fp = at[Base::rbp];
  Registers next{0, false};
  if (fp < at[Base::rsp] || !load(fp, next[Base::rbp]) || !load(fp + sizeof fp, next.pc))
    return false;
  next[Base::rsp] = fp + 2 * sizeof fp;
  at = next;
  return !from_module || next.pc == 0 || recipe_of(at).in_module;
}

/// Decides which bytes may be read for a stack pointer.
bool Unwinder::enter_stack(uintptr_t sp) {
  displacement_ = 0;
  if (thread_stack_.contains(sp, sizeof sp)) {
    stack_ = {sp, thread_stack_.high};
    return true;
  }
  if (copy_ == nullptr) copy_ = static_cast<uint8_t*>(std::malloc(kCopyBytes));
  if (copy_ == nullptr) return false;
  // One piece for each page, so that the copy ends at the first page that is not there.
  constexpr size_t kPage = 4096;
  iovec remote[kCopyBytes / kPage + 1];
  size_t pieces = 0, total = 0;
  for (uintptr_t at = sp; total < kCopyBytes; ++pieces) {
    const size_t size = std::min(kPage - at % kPage, kCopyBytes - total);
    remote[pieces] = {reinterpret_cast<void*>(at), size};
    at += size, total += size;
  }
  const iovec local{copy_, kCopyBytes};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, remote, pieces, 0);
  if (copied <= 0) return false;
  stack_ = {sp, sp + static_cast<size_t>(copied)};
  displacement_ = static_cast<intptr_t>(reinterpret_cast<uintptr_t>(copy_) - sp);
  return true;
}

/// Collects the callers of a frame. False: the outermost one was not reached. Few stacks need more
/// registers than rsp and rbp, so only those pay for them, by a second climb.
bool Unwinder::climb(const Registers& start, bool all, CallStack& out) {
  Registers at = start;
  out.size = 0;
  out.hash = 0;
  bool leading = true;
  for (bool innermost = true;; innermost = false) {
    const Recipe& recipe = recipe_of(at);
    if (recipe.beyond_rbp && !all) return climb(start, true, out);
    leading = leading && recipe.internal;
    if (!innermost && !leading) {
      if (out.size == kMaxFrames) return false;
      const uintptr_t call = at.exact ? at.pc : at.pc - 1;
      out.frames[out.size++] = call;
      out.hash = mix(out.hash ^ call);
    }
    if (recipe.kind == Recipe::Kind::end) return true;
    const bool more = recipe.kind == Recipe::Kind::frame ? caller(recipe, all, at)
                                                         : caller_by_frame_pointer(recipe, at);
    if (!more) return false;
    if (at.pc == 0) return true;
  }
}

void Unwinder::walk(CallStack& out) {
  const int saved = errno;
  Registers at;
#if defined(__x86_64__)
  // r10 is not taken: it belongs to the caller of whatever this function has called.
  asm volatile(
      "mov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3\n\tmov %%r12, %4\n\t"
      "mov %%r13, %5\n\tmov %%r14, %6\n\tmov %%r15, %7\n\tlea 0(%%rip), %0"
      : "=r"(at.pc), "=m"(at[Base::rsp]), "=m"(at[Base::rbp]), "=m"(at[Base::rbx]),
        "=m"(at[Base::r12]), "=m"(at[Base::r13]), "=m"(at[Base::r14]), "=m"(at[Base::r15]));
#else
#error "the unwinder knows x86-64 only"
#endif
  out.size = 0;
  out.hash = 0;
  out.complete = enter_stack(at[Base::rsp]) && climb(at, false, out);
  out.hash = mix(out.hash ^ (out.complete ? 1 : 2));
  errno = saved;
}

}  // namespace fathom::collect
