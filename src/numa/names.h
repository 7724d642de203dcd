#pragma once
// From addresses to what people call them.

#include <string>
#include <vector>

#include "measurement/measurement.h"

namespace fathom {

/// A level of a call path, inlined ones included.
struct NamedFrame {
  std::string function;  ///< demangled; empty: unknown
  SourceLocation at;
  std::string module;  ///< path
  bool returns_pointer = false, returns_void_pointer = false;
};

class Names {
 public:
  Names(const Measurement& measurement, const Process& process)
      : measurement_(measurement), process_(process) {}

  /// What an address of code means, innermost level first; one level without a function if nothing
  /// is known of it.
  std::vector<NamedFrame> code(uint32_t module, uint64_t address) const;
  /// The innermost level of an address that is the user's own; without one, the innermost.
  NamedFrame user_code(uint32_t module, uint64_t address) const;
  /// The frames of a call path that are the user's own, innermost first: neither the allocator's,
  /// nor those of the languages' libraries. If there are none, those whose line is known.
  std::vector<NamedFrame> user_frames(uint32_t call_path) const;
  /// The variables of a module, by address; null if none is known.
  const std::vector<DataVariable>* variables(uint32_t module) const;
  const CpuModule* module(uint32_t module) const;
  /// "thread 3 (worker)".
  std::string thread(const NumaThread& thread) const;
  /// The function that a thread starts in, without parameters; empty if it is unknown.
  std::string start(const NumaThread& thread) const;

 private:
  const Measurement& measurement_;
  const Process& process_;
};

/// A variable's or function's name as in the source: C++ demangled, gfortran's "__grid_MOD_field"
/// as "grid::field".
std::string source_name(const std::string& mangled);

/// A path without its folders.
std::string name_of_file(const std::string& path);

}  // namespace fathom
