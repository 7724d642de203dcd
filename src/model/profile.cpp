#include "model/profile.h"

namespace fathom {

std::string_view name_of(StallClass kind) {
  constexpr std::string_view kNames[] = {
      "global memory", "local memory",    "constant memory",   "shared memory", "write after read",
      "arithmetic",    "synchronization", "instruction fetch", "throttle",      "other"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace fathom
