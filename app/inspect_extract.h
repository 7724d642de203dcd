#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "binary/containers.h"

namespace fathom {

/// Writes images, unpacked, into a folder, which is made if need be: "image_0012.sm_90a.cubin".
/// Gives how many. Errors: the folder or a file cannot be written; an image cannot be unpacked
/// (encrypted ones are left out).
Result<size_t> extract_images(const std::vector<const GpuImage*>& images, const std::string& where,
                              const std::string& folder);

}  // namespace fathom
