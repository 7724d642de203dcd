#pragma once

#include <link.h>

#include <cstdint>

namespace fathom::numa {

/// Where a module is mapped.
struct ModuleRange {
  uintptr_t low, high;
  bool contains(uintptr_t address) const { return address >= low && address < high; }
};
ModuleRange range_of(const dl_phdr_info& module);

/// A module that was instrumented: any address in it.
void note_module(const void* address);
/// Whether an address lies in such a module.
bool is_instrumented(uintptr_t address);
/// Such a module's address as it was noted, for each number from 0; null beyond the last.
const void* instrumented_module(unsigned number);

}  // namespace fathom::numa
