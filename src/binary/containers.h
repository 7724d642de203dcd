#pragma once
// Finds the GPU images in a file: a cubin, a fat binary, an ELF program, library or object file
// with them, or an archive of such.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "binary/fatbin.h"

namespace fathom {

/// An image where it lies in its file. The file's bytes must outlive it.
struct GpuImage : FatbinEntry {
  uint32_t index = 0;   ///< from 1, in the file's order
  std::string place;    ///< ".nv_fatbin", "member.o: .nv_fatbin"; empty: the file itself
  uint64_t offset = 0;  ///< of the payload in the file
};
struct GpuImages {
  std::vector<GpuImage> images;
  std::vector<std::string> problems;  ///< what is damaged in the file; the other images are here
};

/// Lists the images; reads headers only, and unpacks nothing. Looks into each section of data of an
/// ELF file, because libraries keep images in sections of their own as well. Of a file without
/// images the list is empty.
/// `done_with` is told of parts that were looked through, so that a mapped file can give back their
/// memory.
/// Errors: it is none of these files (the error says what it is), 32-bit, or damaged so that its
/// parts cannot be found.
Result<GpuImages> list_gpu_images(
    Bytes file, const std::string& where,
    const std::function<void(Bytes)>& done_with = [](Bytes) {});

/// "libfoo.so, image 12 (sm_90a)", for messages.
std::string describe(const GpuImage& image, const std::string& where);

/// The image, unpacked. Errors: encrypted, damaged, an unknown compression, or larger than `limit`
/// bytes.
inline constexpr uint64_t kMaxImageSize = uint64_t{4} << 30;
Result<std::shared_ptr<const std::vector<uint8_t>>> unpack(const GpuImage& image,
                                                           const std::string& where,
                                                           uint64_t limit = kMaxImageSize);

}  // namespace fathom
