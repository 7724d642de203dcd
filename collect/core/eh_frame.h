#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::collect {

/// How to get from one frame to its caller, found once for each return address.
///   CFA            = cfa_base + cfa_offset, or the word stored there if cfa_in_memory
///   return address = the word at ra_base + ra_offset
///   frame pointer  = the word at fp_base + fp_offset if fp_rule is `saved`
/// The caller's stack pointer is the CFA (System V ABI).
struct Recipe {
  enum class Kind : uint8_t {
    unknown,  ///< no unwind information: the frame pointer may help
    frame,
    end,  ///< an outermost frame: its return address is undefined
  };
  enum class Base : uint8_t { cfa, sp, fp };
  enum class FramePointer : uint8_t { same, saved, lost };

  int32_t cfa_offset = 0, ra_offset = 0, fp_offset = 0;
  Kind kind = Kind::unknown;
  Base cfa_base = Base::sp, ra_base = Base::cfa, fp_base = Base::cfa;
  FramePointer fp_rule = FramePointer::same;
  bool cfa_in_memory = false;
  bool signal_frame = false;  ///< the caller was interrupted: its address is no return address
  bool internal = false;      ///< code of this collector or of the library that it listens to
};

/// Memory that may be read while looking for a recipe.
struct MemoryRange {
  uintptr_t low = 0, high = 0;
  bool contains(uintptr_t at, size_t size) const {
    return at >= low && at <= high && size <= high - at;
  }
};

/// The recipe for the instruction at `pc` from a module's .eh_frame_hdr at `header` (Linux Standard
/// Base, "Exception Frames"; DWARF 4, section 6.4). Reads only inside `memory`. Anything that is
/// damaged or not understood gives Kind::unknown.
Recipe find_recipe(uintptr_t header, MemoryRange memory, uintptr_t pc);

/// The same, found in the loaded modules of this process.
Recipe find_recipe(uintptr_t pc);

}  // namespace fathom::collect
