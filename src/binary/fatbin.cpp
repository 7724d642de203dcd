#include "binary/fatbin.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

constexpr uint64_t kHeaderSize = 16;
constexpr uint32_t kEntryHeaderSize = 64;

constexpr uint64_t kFlag64Bit = 0x1, kFlagDebug = 0x2, kFlagEncrypted = 0x10000,
                   kFlagArchSpecific = 0x100000, kFlagFamilySpecific = 0x200000;
constexpr uint64_t kCompressionFlags = 0xf000;

ImageKind kind_of(uint16_t number) {
  switch (number) {
    case 1:
    case 64:
      return ImageKind::ptx;  // 64: relocatable
    case 2:
    case 16:  // cuobjdump counts both as ELF
      return ImageKind::cubin;
    case 8:
      return ImageKind::nvvm;
    case 32:
      return ImageKind::index;
    case 128:
      return ImageKind::tile_ir;
    default:
      return ImageKind::other;
  }
}

Compression compression_of(uint64_t flags) {
  switch (flags & kCompressionFlags) {
    case 0:
      return Compression::none;
    case 0x2000:
      return Compression::lz4_block;
    case 0x4000:
      return Compression::lz4_frame;
    case 0x8000:
      return Compression::zstd;
    default:
      return Compression::unknown;
  }
}

std::string arch_of(const FatbinEntry& entry, uint64_t flags) {
  const char* suffix = flags & kFlagArchSpecific ? "a" : flags & kFlagFamilySpecific ? "f" : "";
  const char* prefix =
      entry.kind == ImageKind::cubin || entry.kind == ImageKind::other ? "sm" : "compute";
  return format("%s_%u%s", prefix, entry.compute, suffix);
}

/// Reads the entry where `reader` stands and moves behind it; nothing if it is damaged or cut off.
std::optional<FatbinEntry> read_entry(Bytes fatbin, ByteReader& reader) {
  const uint64_t start = reader.position();
  FatbinEntry entry;
  entry.kind = kind_of(reader.u16());
  reader.u16();
  const uint32_t header_size = reader.u32();
  const uint64_t padded_size = reader.u64();
  const uint32_t packed_size = reader.u32();
  reader.skip(8);
  entry.compute = reader.u32();
  const uint32_t name_offset = reader.u32(), name_size = reader.u32();
  const uint64_t flags = reader.u64();
  reader.skip(8);
  const uint64_t unpacked_size = reader.u64();
  if (reader.failed() || header_size < kEntryHeaderSize) return std::nullopt;
  std::optional<Bytes> header = slice(fatbin, start, header_size);
  if (!header) return std::nullopt;
  std::optional<Bytes> payload = slice(fatbin, start + header_size, padded_size);
  if (!payload) return std::nullopt;
  entry.arch = arch_of(entry, flags);
  entry.compression = compression_of(flags);
  entry.encrypted = flags & kFlagEncrypted;
  entry.is_64_bit = flags & kFlag64Bit;
  entry.has_debug = flags & kFlagDebug;
  entry.payload = *payload;
  entry.size = padded_size;
  if (entry.compression != Compression::none) {
    if (packed_size > padded_size) return std::nullopt;
    entry.payload = payload->subspan(0, packed_size);
    entry.size = unpacked_size;
  }
  if (std::optional<Bytes> name = slice(*header, name_offset, name_size); name && name_size)
    entry.identifier = as_text(*name).substr(0, as_text(*name).find('\0'));
  reader.seek(start + header_size + padded_size);
  return entry;
}

}  // namespace

const char* name_of(ImageKind kind) {
  static constexpr const char* kNames[] = {"cubin", "ptx", "lto ir", "tile ir", "index", "other"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<Fatbin> read_fatbin(Bytes bytes, uint64_t offset) {
  ByteReader header(bytes, offset);
  const uint32_t magic = header.u32();
  const uint16_t version = header.u16(), header_size = header.u16();
  const uint64_t size = header.u64();
  if (header.failed() || magic != kFatbinMagic || version != 1 || header_size != kHeaderSize)
    return std::nullopt;
  Fatbin fatbin;
  Bytes rest = bytes.subspan(offset);
  const bool cut = size > rest.size() - kHeaderSize;
  Bytes own = rest.subspan(0, cut ? rest.size() : kHeaderSize + size);
  fatbin.end = offset + own.size();
  if (cut)
    fatbin.problem = format("a fat binary of %llu bytes is cut off after %zu",
                            (unsigned long long)size, rest.size() - kHeaderSize);
  ByteReader reader(own, kHeaderSize);
  while (!reader.at_end()) {
    const uint64_t start = reader.position();
    std::optional<FatbinEntry> entry = read_entry(own, reader);
    if (!entry) {
      if (!cut)
        fatbin.problem = format("entry %zu of a fat binary, at 0x%llx in it, is damaged",
                                fatbin.entries.size() + 1, (unsigned long long)start);
      break;
    }
    fatbin.entries.push_back(std::move(*entry));
  }
  return fatbin;
}

}  // namespace fathom
