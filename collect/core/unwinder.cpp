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
  slots_ = static_cast<Slot*>(std::calloc(kSlots, sizeof(Slot)));
  errno = saved;
}

Unwinder::~Unwinder() {
  std::free(slots_);
  std::free(copy_);
}

void Unwinder::forget() {
  if (slots_ != nullptr) std::fill(slots_, slots_ + kSlots, Slot{});
}

const Recipe& Unwinder::recipe_of(const Registers& at) {
  const uint64_t key = uint64_t(at.pc) << 1 | (at.exact ? 1 : 0);
  Slot& slot = slots_ != nullptr ? slots_[mix(key) >> 20 & (kSlots - 1)] : spare_;
  if (slot.key != key) slot = {key, find_recipe(at.exact ? at.pc : at.pc - 1)};
  return slot.recipe;
}

bool Unwinder::load(uintptr_t address, uintptr_t& value) const {
  if (!stack_.contains(address, sizeof value) || address % sizeof value != 0) return false;
  value = read_word(address + displacement_);
  return true;
}

bool Unwinder::caller(const Recipe& recipe, Registers& at) const {
  using Base = Recipe::Base;
  uintptr_t cfa = (recipe.cfa_base == Base::fp ? at.fp : at.sp) + recipe.cfa_offset;
  if (recipe.cfa_in_memory && !load(cfa, cfa)) return false;
  if (cfa <= at.sp) return false;  // a caller's frame lies above
  const auto place = [&](Base base, int32_t offset) {
    return (base == Base::cfa ? cfa : base == Base::fp ? at.fp : at.sp) + offset;
  };
  uintptr_t pc = 0, fp = at.fp;
  if (!load(place(recipe.ra_base, recipe.ra_offset), pc)) return false;
  if (recipe.fp_rule == Recipe::FramePointer::lost) fp = 0;
  if (recipe.fp_rule == Recipe::FramePointer::saved &&
      !load(place(recipe.fp_base, recipe.fp_offset), fp))
    return false;
  at = {pc, cfa, fp, recipe.signal_frame};
  return true;
}

/// Code without unwind tables, as just-in-time compilers make it, often keeps the chain of frame
/// pointers.
bool Unwinder::caller_by_frame_pointer(Registers& at) const {
  uintptr_t pc = 0, fp = 0;
  if (at.fp < at.sp || !load(at.fp, fp) || !load(at.fp + sizeof fp, pc)) return false;
  at = {pc, at.fp + 2 * sizeof fp, fp, false};
  return true;
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

void Unwinder::walk(CallStack& out) {
  const int saved = errno;
  Registers at{0, 0, 0, true};
#if defined(__x86_64__)
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
               : "=&r"(at.pc), "=&r"(at.sp), "=&r"(at.fp));
#else
#error "the unwinder knows x86-64 only"
#endif
  out.size = 0;
  out.complete = false;
  uint64_t hash = 0;
  bool leading = true;
  if (enter_stack(at.sp)) {
    for (bool innermost = true;; innermost = false) {
      const Recipe& recipe = recipe_of(at);
      leading = leading && recipe.internal;
      if (!innermost && !leading) {
        if (out.size == kMaxFrames) break;
        const uintptr_t call = at.exact ? at.pc : at.pc - 1;
        out.frames[out.size++] = call;
        hash = mix(hash ^ call);
      }
      if (recipe.kind == Recipe::Kind::end) {
        out.complete = true;
        break;
      }
      const bool more =
          recipe.kind == Recipe::Kind::frame ? caller(recipe, at) : caller_by_frame_pointer(at);
      if (!more) break;
      if (at.pc == 0) {
        out.complete = true;
        break;
      }
    }
  }
  out.hash = mix(hash ^ (out.complete ? 1 : 2));
  errno = saved;
}

}  // namespace fathom::collect
