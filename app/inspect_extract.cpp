#include "app/inspect_extract.h"

#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

const char* ending(ImageKind kind) {
  switch (kind) {
    case ImageKind::cubin:
      return "cubin";
    case ImageKind::ptx:
      return "ptx";
    default:
      return "bin";
  }
}

}  // namespace

Result<size_t> extract_images(const std::vector<const GpuImage*>& images, const std::string& where,
                              const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Error{ErrorKind::bad_input, "cannot make the folder: " + error.message(), folder, ""};
  size_t written = 0;
  for (const GpuImage* image : images) {
    if (image->encrypted) continue;
    Result<std::shared_ptr<const std::vector<uint8_t>>> bytes = unpack(*image, where);
    if (!bytes) return bytes.error();
    const std::string name = format("%s/image_%04u.%s.%s", folder.c_str(), image->index,
                                    image->arch.c_str(), ending(image->kind));
    if (Result<Done> done = write_file(name, as_text(**bytes)); !done) return done.error();
    ++written;
  }
  return written;
}

}  // namespace fathom
