// A cubin: ELF, symbols, line programs, resources.

#include <cstdint>
#include <memory>
#include <vector>

#include "binary/gpu_binary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  auto bytes = std::make_shared<const std::vector<uint8_t>>(data, data + size);
  Result<GpuBinary> binary = open_gpu_binary(bytes, "fuzz");
  if (!binary) return 0;
  for (const GpuSymbol& function : binary->functions) {
    FATHOM_INVARIANT(binary->code(function).size() == function.size);
    kernel_resources(*binary, function);
  }
  for (const auto& [section, rows] : binary->lines.rows) {
    for (const LineRow& row : rows) {
      FATHOM_INVARIANT(row.file < binary->lines.files.size());
      for (int32_t at = row.context; at >= 0; at = binary->lines.inlines[at].parent)
        FATHOM_INVARIANT(static_cast<size_t>(at) < binary->lines.inlines.size());
    }
  }
  return 0;
}
