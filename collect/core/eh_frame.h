#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::collect {

/// The registers that compilers compute CFAs from, and the CFA itself. Nearly all frames need rsp
/// or rbp only; Intel's compiler realigns frames by rbx, glibc's lazy binding runs on rbx, and GCC
/// enters realigned frames by r10 or r13.
enum class Base : uint8_t { rsp, rbp, rbx, r10, r12, r13, r14, r15, cfa, none };
inline constexpr size_t kRegisters = static_cast<size_t>(Base::cfa);

/// How to get from one frame to its caller, found once for each return address.
///   CFA            = cfa_base + cfa_offset, or the word stored there if cfa_in_memory
///   return address = the word at `return_address`
///   registers      = the words at `saved`, 0 if that has no base, else as in the frame itself
/// The caller's stack pointer is the CFA (System V ABI).
struct Recipe {
  enum class Kind : uint8_t {
    unknown,  ///< no unwind information: the frame pointer may help
    frame,
    end,  ///< an outermost frame: its return address is undefined
  };
  struct Place {
    static constexpr int32_t kLimit = 1 << 23;
    int32_t offset : 24;  ///< [-kLimit, kLimit)
    Base base : 4;
    Base reg : 4;  ///< which register of the caller is there
  };

  int32_t cfa_offset = 0;
  Place return_address{0, Base::none, Base::none};
  Place saved[kRegisters - 1]{};  ///< rbp first if it is among them; never rsp
  uint8_t saved_count = 0;
  bool saves_rbp = false;
  bool beyond_rbp = false;  ///< the CFA, the return address or rbp depend on another register
  Kind kind = Kind::unknown;
  Base cfa_base = Base::none;
  bool cfa_in_memory = false;
  bool signal_frame = false;  ///< the caller was interrupted: its address is no return address
  bool in_module = false;     ///< code of a loaded module
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
