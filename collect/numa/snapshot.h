#pragma once

#include <cstdint>

namespace fathom::numa {

/// Writes everything that is known since the start of the process to numa.fathom.
void write_snapshot(bool is_last);

}  // namespace fathom::numa
