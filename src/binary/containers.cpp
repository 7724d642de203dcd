#include "binary/containers.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "binary/archive.h"
#include "binary/elf.h"
#include "binary/gpu_binary.h"

namespace fathom {
namespace {

constexpr uint64_t kAlloc = 2, kExecutable = 4;  // section flags
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr size_t kDoneStep = 4 << 20;
constexpr size_t kMostProblems = 100, kMostOfName = 100;
constexpr size_t kStep = 4;  // images lie at multiples of it; some libraries pack them that tightly

bool is_elf(Bytes bytes) {
  return starts_with(as_text(bytes), kElfMagic);
}

/// Fat binaries are in these sections only for their own sake; the second holds what is still to be
/// linked.
bool is_fatbin_section(std::string_view name) {
  return name == ".nv_fatbin" || name == "__nv_relfatbin";
}

/// Bytes from the start of an ELF file to the end of its last part.
uint64_t size_of(const ElfFile& elf, Bytes bytes) {
  ByteReader reader(bytes, 32);
  const uint64_t programs = reader.u64(), sections = reader.u64();
  reader.seek(54);
  const uint64_t program_size = reader.u16(), program_count = reader.u16();
  uint64_t size = sections + uint64_t{elf.section_count()} * 64;
  if (slice(bytes, programs, program_size * program_count))
    size = std::max(size, programs + program_size * program_count);
  for (uint32_t i = 0; i < elf.section_count(); ++i) {
    Result<ElfSection> section = elf.section(i);
    if (section && !section->data.empty())
      size = std::max<uint64_t>(size, section->data.data() + section->data.size() - bytes.data());
  }
  return size;
}

class Finder {
 public:
  Finder(Bytes file, std::string where, const std::function<void(Bytes)>& done_with)
      : file_(file), where_(std::move(where)), done_with_(done_with) {}

  /// Everything in an ELF file, fat binary or cubin; `prefix` stands before the place.
  Result<Done> add_file(Bytes bytes, const std::string& prefix) {
    if (ByteReader(bytes).u32() == kFatbinMagic) {
      scan(bytes, prefix, true);
      return Done{};
    }
    Result<ElfFile> elf = ElfFile::open(bytes, where_);
    if (!elf) return elf.error();
    if (elf->machine() == kElfMachineCuda) {
      add_cubin(*elf, bytes, prefix);
      return Done{};
    }
    add_sections(*elf, prefix);
    if (elf->section_count() == 0) scan(bytes, prefix + "no sections", false);
    return Done{};
  }

  GpuImages take() {
    for (size_t i = 0; i < found_.images.size(); ++i)
      found_.images[i].index = static_cast<uint32_t>(i + 1);
    return std::move(found_);
  }
  void add_problem(std::string what) {
    if (found_.problems.size() < kMostProblems) found_.problems.push_back(std::move(what));
  }

 private:
  /// Each byte is looked at once, even where a hostile file's sections overlap.
  void add_sections(const ElfFile& elf, const std::string& prefix) {
    std::vector<ElfSection> sections;
    for (uint32_t i = 1; i < elf.section_count(); ++i) {
      Result<ElfSection> section = elf.section(i);
      if (!section) {
        add_problem(prefix + section.error().what);
      } else if (!section->data.empty() && (is_fatbin_section(section->name) ||
                                            (section->flags & (kAlloc | kExecutable)) == kAlloc)) {
        sections.push_back(*section);
      }
    }
    std::stable_sort(sections.begin(), sections.end(),
                     [](const auto& a, const auto& b) { return a.data.data() < b.data.data(); });
    const uint8_t* seen = file_.data();
    for (const ElfSection& section : sections) {
      Bytes data = section.data;
      if (data.data() < seen)
        data = data.subspan(std::min<size_t>(seen - data.data(), data.size()));
      if (data.empty()) continue;
      seen = data.data() + data.size();
      scan(data, prefix + std::string(section.name.substr(0, kMostOfName)),
           is_fatbin_section(section.name));
    }
  }

  /// Fat binaries and cubins anywhere in `bytes`. In a section of theirs, whatever starts like a
  /// fat binary must be one.
  void scan(Bytes bytes, const std::string& place, bool is_own) {
    size_t done = 0;
    for (size_t at = 0; at + kStep <= bytes.size();) {
      if (at - done >= kDoneStep) {
        done_with_(bytes.subspan(done, at - done));
        done = at;
      }
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      size_t size = 0;
      if (word == kFatbinMagic) {
        size = add_fatbin(bytes, at, place, is_own);
      } else if (word == 0x464c457f) {
        size = add_bare_cubin(bytes.subspan(at), place);
      }
      at += std::max(size / kStep * kStep, kStep);
    }
  }

  /// Returns its size; 0 where there is none.
  size_t add_fatbin(Bytes bytes, size_t at, const std::string& place, bool is_own) {
    std::optional<Fatbin> fatbin = read_fatbin(bytes, at);
    if (!fatbin || (!is_own && !fatbin->problem.empty() && fatbin->entries.empty())) {
      if (is_own)
        add_problem(place_text(place, bytes.subspan(at)) + "a fat binary's header is damaged");
      return 0;
    }
    if (!fatbin->problem.empty())
      add_problem(place_text(place, bytes.subspan(at)) + fatbin->problem);
    for (FatbinEntry& entry : fatbin->entries) add(std::move(entry), place);
    return fatbin->end - at;
  }

  size_t add_bare_cubin(Bytes bytes, const std::string& place) {
    Result<ElfFile> elf = ElfFile::open(bytes, where_);
    if (!elf || elf->machine() != kElfMachineCuda) return 0;
    const uint64_t size = std::min<uint64_t>(size_of(*elf, bytes), bytes.size());
    add_cubin(*elf, bytes.subspan(0, size), place);
    return size;
  }

  void add_cubin(const ElfFile& elf, Bytes bytes, const std::string& place) {
    FatbinEntry entry;
    entry.kind = ImageKind::cubin;
    GpuArchitecture architecture = architecture_of(elf);
    entry.compute = architecture.compute;
    entry.arch = architecture.name;
    entry.size = bytes.size();
    entry.payload = bytes;
    add(std::move(entry), place);
  }

  void add(FatbinEntry entry, const std::string& place) {
    GpuImage image;
    static_cast<FatbinEntry&>(image) = std::move(entry);
    image.place = place;
    image.offset = image.payload.data() - file_.data();
    found_.images.push_back(std::move(image));
  }

  std::string place_text(const std::string& place, Bytes at) const {
    return (place.empty() ? "" : place + ": ") +
           format("at 0x%zx: ", static_cast<size_t>(at.data() - file_.data()));
  }

  Bytes file_;
  std::string where_;
  const std::function<void(Bytes)>& done_with_;
  GpuImages found_;
};

Result<GpuImages> list_archive(Bytes file, const std::string& where,
                               const std::function<void(Bytes)>& done_with) {
  Result<std::vector<ArchiveMember>> members = read_archive(file, where);
  if (!members) return members.error();
  Finder finder(file, where, done_with);
  for (const ArchiveMember& member : *members) {
    if (!is_elf(member.data) && ByteReader(member.data).u32() != kFatbinMagic) continue;
    Result<Done> added = finder.add_file(member.data, member.name.substr(0, kMostOfName) + ": ");
    if (!added) finder.add_problem(member.name.substr(0, kMostOfName) + ": " + added.error().what);
  }
  return finder.take();
}

}  // namespace

Result<GpuImages> list_gpu_images(Bytes file, const std::string& where,
                                  const std::function<void(Bytes)>& done_with) {
  if (is_archive(file)) return list_archive(file, where, done_with);
  Finder finder(file, where, done_with);
  Result<Done> added = finder.add_file(file, "");
  if (added) return finder.take();
  Error error = added.error();
  if (error.kind == ErrorKind::bad_input && !is_elf(file))
    error.hint =
        "give a cubin, a fat binary, an archive, or an ELF program, library or object file";
  return error;
}

std::string describe(const GpuImage& image, const std::string& where) {
  return where + format(", image %u (%s)", image.index, image.arch.c_str());
}

Result<std::shared_ptr<const std::vector<uint8_t>>> unpack(const GpuImage& image,
                                                           const std::string& where,
                                                           uint64_t limit) {
  const std::string name = describe(image, where);
  if (image.encrypted)
    return Error{ErrorKind::bad_input, "the image is encrypted", name,
                 "only NVIDIA's own linker can read it; link the program, and look at the result"};
  if (image.size > limit)
    return Error{ErrorKind::bad_input,
                 format("the image would be %s, more than the %s that are read",
                        human_bytes(image.size).c_str(), human_bytes(limit).c_str()),
                 name, ""};
  Result<std::vector<uint8_t>> bytes =
      decompress(image.compression, image.payload, image.size, name);
  if (!bytes) return bytes.error();
  return std::make_shared<const std::vector<uint8_t>>(std::move(*bytes));
}

}  // namespace fathom
