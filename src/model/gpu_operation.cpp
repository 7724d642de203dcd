#include "model/gpu_operation.h"

namespace fathom {

std::string_view code_of(CopyKind kind) {
  constexpr std::string_view kCodes[kCopyKindCount] = {"UNK", "H2D", "D2H", "H2A", "A2H", "A2A",
                                                       "A2D", "D2A", "D2D", "H2H", "P2P"};
  return kCodes[static_cast<size_t>(kind)];
}

std::string_view code_of(MemoryKind kind) {
  constexpr std::string_view kCodes[kMemoryKindCount] = {"UNK", "PAG", "PIN", "DEV",
                                                         "ARY", "MAN", "DST", "MST"};
  return kCodes[static_cast<size_t>(kind)];
}

std::string_view code_of(SyncKind kind) {
  constexpr std::string_view kCodes[kSyncKindCount] = {"UNK", "EVT", "STRE", "STR", "CTX"};
  return kCodes[static_cast<size_t>(kind)];
}

}  // namespace fathom
