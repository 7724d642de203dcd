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
  walks_ = static_cast<Walk*>(std::calloc(2, sizeof(Walk)));
  errno = saved;
}

Unwinder::~Unwinder() {
  std::free(sets_);
  std::free(walks_);
  std::free(copy_);
}

void Unwinder::forget() {
  if (sets_ != nullptr) std::fill(sets_, sets_ + kSets, Set{});
  spare_ = {};
  if (walks_ != nullptr) walks_[last_].trail.clear();
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

bool Unwinder::load(uintptr_t address, uintptr_t& value) {
  if (!stack_.contains(address, sizeof value) || address % sizeof value != 0) return false;
  value = read_word(address + displacement_);
  if (recording_ != nullptr && !recording_->add(Trail::Word{address, value})) recording_ = nullptr;
  return true;
}

/// `all`: follows all registers, and not only rsp and rbp.
bool Unwinder::caller(const Recipe& recipe, bool all, Registers& at) {
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
  size_t search = 0;
  for (bool innermost = true;; innermost = false) {
    if (recording_ != nullptr) {
      const Trail::Step state{at.pc,   at[Base::rsp],       at[Base::rbp],
                              leading, recording_->words(), static_cast<uint32_t>(out.size)};
      const size_t known = walks_[last_].trail.find(state, search);
      if (known != Trail::kNone && still_holds(walks_[last_].trail, known))
        return repeat(known, innermost, out);
      if (!recording_->add(state)) recording_ = nullptr;
    }
    const Recipe& recipe = recipe_of(at);
    if (recipe.beyond_rbp && !all) {
      recording_ = nullptr;
      return climb(start, true, out);
    }
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

bool Unwinder::still_holds(const Trail& trail, size_t step) const {
  for (const auto* word = trail.words_from(step); word != trail.words_end(); ++word)
    if (!stack_.contains(word->address, sizeof word->value) ||
        read_word(word->address) != word->value)
      return false;
  return true;
}

/// From `step` of the last walk on, this walk finds the same. `whole`: it is the first step.
bool Unwinder::repeat(size_t step, bool whole, CallStack& out) {
  const Walk& last = walks_[last_];
  if (whole) {
    // Nothing has changed at all: the last walk stays the last.
    out.size = last.stack.size;
    out.hash = last.stack.hash;
    std::copy(last.stack.frames, last.stack.frames + out.size, out.frames);
    recording_ = nullptr;
    repeated_ = true;
    return last.stack.complete;
  }
  const Trail& trail = last.trail;
  const uint32_t skipped_words = trail.step(step).words, skipped_frames = trail.step(step).frames;
  const uint32_t words = recording_->words(), frames = static_cast<uint32_t>(out.size);
  for (size_t i = step; recording_ != nullptr && i < trail.size(); ++i) {
    Trail::Step next = trail.step(i);
    next.words += words - skipped_words;
    next.frames += frames - skipped_frames;
    if (!recording_->add(next)) recording_ = nullptr;
  }
  for (const auto* word = trail.words_from(step);
       recording_ != nullptr && word != trail.words_end(); ++word)
    if (!recording_->add(*word)) recording_ = nullptr;
  for (size_t i = skipped_frames; i < last.stack.size; ++i) {
    if (out.size == kMaxFrames) return false;
    out.frames[out.size++] = last.stack.frames[i];
    out.hash = mix(out.hash ^ last.stack.frames[i]);
  }
  return last.stack.complete;
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
  const bool readable = enter_stack(at[Base::rsp]);
  repeated_ = false;
  recording_ =
      readable && displacement_ == 0 && walks_ != nullptr ? &walks_[1 - last_].trail : nullptr;
  if (recording_ != nullptr) recording_->clear();
  out.complete = readable && climb(at, false, out);
  if (!repeated_) out.hash = mix(out.hash ^ (out.complete ? 1 : 2));
  remember(out);
  errno = saved;
}

void Unwinder::remember(const CallStack& stack) {
  if (repeated_ || walks_ == nullptr) return;
  if (recording_ == nullptr) {
    walks_[last_].trail.clear();
    return;
  }
  last_ = 1 - last_;
  CallStack& copy = walks_[last_].stack;
  copy.size = stack.size;
  copy.complete = stack.complete;
  copy.hash = stack.hash;
  std::copy(stack.frames, stack.frames + stack.size, copy.frames);
  recording_ = nullptr;
}

}  // namespace fathom::collect
