// A file with GPU images: programs, archives, fat binaries; what they hold is unpacked.

#include <cstdint>

#include "binary/containers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  constexpr uint64_t kMostBytes = 16 << 20;
  Result<GpuImages> found = list_gpu_images({data, size}, "fuzz");
  if (!found) return 0;
  for (const GpuImage& image : found->images) {
    FATHOM_INVARIANT(image.offset <= size && image.payload.size() <= size - image.offset);
    Result<std::shared_ptr<const std::vector<uint8_t>>> bytes = unpack(image, "fuzz", kMostBytes);
    if (bytes) FATHOM_INVARIANT((*bytes)->size() == image.size);
  }
  return 0;
}
