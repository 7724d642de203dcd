#pragma once
// NVIDIA's fat binaries: images of code for several architectures behind one header. The layout was
// found out by experiment with fatbinary and cuobjdump 13.0:
//   header  u32 magic, u16 version (1), u16 size of this header (16), u64 size of what follows
//   entry   u16 kind, u16 version, u32 size of this header (64 or more), u64 size of the payload
//           with padding, u32 size of the payload if compressed, u32 offset of the options,
//           u16 and u16 minor and major version of the code, u32 architecture, u32 offset and
//           u32 length of the identifier, u64 flags, u64 (not known), u64 size when unpacked;
//           identifier and options follow within the header's size, then the payload

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "binary/decompress.h"

namespace fathom {

enum class ImageKind : uint8_t { cubin, ptx, nvvm, tile_ir, index, other };
const char* name_of(ImageKind kind);

struct FatbinEntry {
  ImageKind kind = ImageKind::other;
  uint32_t compute = 0;  ///< 90 for sm_90a
  std::string arch;      ///< "sm_90a", "sm_100f"; "compute_90" for PTX and IR
  Compression compression = Compression::none;
  bool encrypted = false;  ///< LTO IR is: only NVIDIA's linker can read it
  bool is_64_bit = true;
  bool has_debug = false;
  uint64_t size = 0;            ///< bytes when unpacked
  std::string_view identifier;  ///< the source file, if the compiler stored it
  Bytes payload;                ///< as it is stored
};
struct Fatbin {
  uint64_t end = 0;  ///< offset behind it
  std::vector<FatbinEntry> entries;
  std::string problem;  ///< what is damaged, if anything; entries before that place are whole
};

inline constexpr uint32_t kFatbinMagic = 0xba55ed50;

/// Reads the headers of the fat binary at `offset`; nothing where none starts there.
std::optional<Fatbin> read_fatbin(Bytes bytes, uint64_t offset);

}  // namespace fathom
