#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/eh_frame.h"
#include "core/trail.h"

namespace fathom::collect {

inline constexpr size_t kMaxFrames = 256;

/// The calls that led to a place in the program, innermost first: addresses inside the call
/// instructions (return address - 1).
struct CallStack {
  size_t size = 0;
  bool complete = false;  ///< false: outer frames are missing
  uint64_t hash = 0;      ///< of all the above
  uintptr_t frames[kMaxFrames];
};

/// Walks the stack of one thread, and only of that one. Recipes are looked up once for each return
/// address. Every read stays within the thread's stack; a stack made by the program itself (a
/// coroutine's) is copied by the kernel first, so that no stale recipe or damaged stack can fault.
class Unwinder {
 public:
  /// To be made on the thread whose stack it shall walk.
  Unwinder();
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  /// The stack of the caller. Leading frames of this collector and of the GPU driver are left out.
  void walk(CallStack& out) __attribute__((noinline));

  /// Drops all recipes: code has been unloaded.
  void forget();

 private:
  struct Registers {
    uintptr_t pc = 0;
    bool exact = true;  ///< pc is the instruction itself, not a return address
    uintptr_t values[kRegisters]{};
    uintptr_t& operator[](Base reg) { return values[static_cast<size_t>(reg)]; }
    uintptr_t operator[](Base reg) const { return values[static_cast<size_t>(reg)]; }
  };
  /// Several recipes whose keys fall together: with one slot for each, two frames of a deep stack
  /// that fall together would be looked up anew in every walk.
  struct Set {
    static constexpr size_t kWays = 4;
    uint64_t keys[kWays]{};
    Recipe recipes[kWays];
  };
  static constexpr size_t kSets = 512;
  static constexpr size_t kCopyBytes = 128u << 10;

  const Recipe& recipe_of(const Registers& at);
  bool climb(const Registers& start, bool all, CallStack& out);
  bool still_holds(const Trail& trail, size_t step) const;
  bool repeat(size_t step, bool whole, CallStack& out);
  void remember(const CallStack& stack);
  bool caller(const Recipe& recipe, bool all, Registers& at);
  bool caller_by_frame_pointer(const Recipe& recipe, Registers& at);
  bool load(uintptr_t address, uintptr_t& value);
  bool enter_stack(uintptr_t sp);

  MemoryRange thread_stack_;
  MemoryRange stack_;          ///< what may be read now
  intptr_t displacement_ = 0;  ///< from a stack address to where its bytes can be read
  uint8_t* copy_ = nullptr;
  Set* sets_ = nullptr;
  Set spare_;
  size_t next_way_ = 0;  ///< the one to replace
  /// The last walk and its result; the other one is being made.
  struct Walk {
    Trail trail;
    CallStack stack;
  };
  Walk* walks_ = nullptr;  ///< two of them
  size_t last_ = 0;
  Trail* recording_ = nullptr;
  bool repeated_ = false;  ///< this walk found what the last one did
};

}  // namespace fathom::collect
