#include "cuda/parameter_layouts.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "cuda/hash.h"

namespace fathom::collect::cuda {
namespace {

constexpr std::string_view kInfo = ".nv.info.";
constexpr uint8_t kSized = 4;             // EIFMT_SVAL: a size, then so many bytes
constexpr uint8_t kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO
constexpr size_t kParameterBytes = 12;    // index, ordinal and offset, size from bit 18 on

/// Bytes of a file, read within bounds.
struct Image {
  const uint8_t* bytes;
  size_t size;

  bool holds(uint64_t offset, uint64_t count) const {
    return offset <= size && count <= size - offset;
  }
  template <class T>
  bool read(uint64_t offset, T& out) const {
    if (!holds(offset, sizeof out)) return false;
    std::memcpy(&out, bytes + offset, sizeof out);
    return true;
  }
  std::string_view text(uint64_t offset) const {
    if (offset >= size) return {};
    const auto* start = reinterpret_cast<const char*>(bytes + offset);
    return {start, strnlen(start, size - offset)};
  }
};

/// False where an attribute leaves the section or a parameter makes no sense.
bool read_parameters(const Image& info, ParameterLayout& out) {
  for (size_t at = 0; at + 4 <= info.size;) {
    const uint8_t form = info.bytes[at], attribute = info.bytes[at + 1];
    uint16_t value = 0;
    info.read(at + 2, value);
    at += 4;
    if (form != kSized) continue;
    if (!info.holds(at, value)) return false;
    if (attribute == kParameterInfo && value >= kParameterBytes) {
      uint16_t position = 0, offset = 0;
      uint32_t sizes = 0;
      info.read(at + 4, position), info.read(at + 6, offset), info.read(at + 8, sizes);
      const uint32_t size = sizes >> 18;
      if (position > ParameterLayouts::kMostBytes || size == 0 ||
          offset + size > ParameterLayouts::kMostBytes)
        return false;
      if (out.parameters.size() <= position) out.parameters.resize(position + size_t{1});
      out.parameters[position] = {offset, static_cast<uint16_t>(size)};
    }
    at += value;
  }
  // A gap is a parameter that nobody described.
  return std::all_of(out.parameters.begin(), out.parameters.end(),
                     [](const ParameterLayout::Parameter& each) { return each.size != 0; });
}

bool same(const ParameterLayout& a, const ParameterLayout& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const auto& one, const auto& other) {
                      return one.offset == other.offset && one.size == other.size;
                    });
}

}  // namespace

void ParameterLayouts::learn(const void* cubin, size_t size) {
  const Image file{static_cast<const uint8_t*>(cubin), cubin == nullptr ? 0 : size};
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return;
  Elf64_Shdr first{}, names{};
  if (!file.read(header.e_shoff, first)) return;
  // With very many sections their number and that of their names stand in the first one.
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const uint64_t name_index = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  if (count > size / sizeof(Elf64_Shdr) || name_index >= count ||
      !file.read(header.e_shoff + name_index * sizeof names, names) ||
      !file.holds(names.sh_offset, names.sh_size))
    return;
  const Image texts{file.bytes + names.sh_offset, names.sh_size};
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section{};
    if (!file.read(header.e_shoff + i * sizeof section, section)) return;
    const std::string_view name = texts.text(section.sh_name);
    if (name.substr(0, kInfo.size()) != kInfo || !file.holds(section.sh_offset, section.sh_size))
      continue;
    ParameterLayout layout;
    if (read_parameters({file.bytes + section.sh_offset, section.sh_size}, layout))
      add(name.substr(kInfo.size()), std::move(layout));
  }
}

void ParameterLayouts::add(std::string_view kernel, ParameterLayout layout) {
  const uint64_t hash = hash_of(kernel);
  const uint32_t known = by_name_.find(hash);
  if (known == kAbsent) {
    by_name_.insert(hash, static_cast<uint32_t>(layouts_.size()));
    layouts_.push_back(std::move(layout));
  } else if (!same(layouts_[known], layout)) {
    layouts_[known].ambiguous = true;
  }
}

uint32_t ParameterLayouts::find(std::string_view kernel) const {
  const uint32_t index = by_name_.find(hash_of(kernel));
  return index == kAbsent || layouts_[index].ambiguous ? kAbsent : index;
}

}  // namespace fathom::collect::cuda
