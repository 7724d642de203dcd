#pragma once

#include <cstdint>

namespace fathom::numa {

/// A module that was instrumented: any address in it.
void note_module(const void* address);

/// Writes everything that is known since the start of the process to numa.fathom.
void write_snapshot(bool is_last);

}  // namespace fathom::numa
