#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/cupti_table.h"

namespace fathom::collect::cuda {

/// Keeps a GPU binary as gpubins/<sha256>.cubin below the measurement directory, unless it is there
/// already, and writes its GpuBinary record. Processes of one run may store the same one at once.
void keep_binary(const CuptiTable& cupti, uint32_t context, uint32_t module, const void* bytes,
                 size_t size);

}  // namespace fathom::collect::cuda
