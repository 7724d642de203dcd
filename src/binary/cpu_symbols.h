#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fathom {

enum class Returned { other, pointer, pointer_to_void };

/// One level of what a CPU address means: a function, and the line in it.
struct CpuSymbolLevel {
  std::string function;  ///< mangled
  std::string file;      ///< absolute if the debug information allows; may be empty
  uint32_t line = 0;     ///< 0: unknown
  Returned returned = Returned::other;
};

/// Resolves addresses of a program or library (addresses in the file, not in memory) with its debug
/// information, in the file or in a separate one beside the system's other debug files. For each
/// address: outermost function first, then what is inlined into it, with the line of each call.
/// Without debug information there is one level with the function of the symbol table; nothing for
/// an address in no function or a file that cannot be read.
std::vector<std::vector<CpuSymbolLevel>> resolve_cpu_addresses(
    const std::string& module_path, const std::vector<uint64_t>& addresses);

}  // namespace fathom
