#include "binary/gpu_binary.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "binary/elf.h"
#include "binary/line_program.h"

namespace fathom {
namespace {

constexpr uint8_t kEntryPoint = 0x10;       // STO_CUDA_ENTRY in st_other
constexpr uint32_t kFirstWideCompute = 70;  // 128-bit instructions came with Volta
constexpr uint32_t kReservedShared = 1024;  // of each block, taken by the system since sm_90
constexpr uint8_t kCompatArchSpecific = 9;  // .nv.compat: code for one architecture only ("a")
constexpr uint8_t kInfoMaxThreads = 0x05;   // .nv.info attributes
constexpr uint8_t kInfoFrameSize = 0x11;
constexpr uint8_t kInfoMinStackSize = 0x12;
constexpr uint8_t kInfoRegisters = 0x2f;
constexpr uint8_t kInfoParameterBank = 0x0a;  // where in constant bank 0 parameters are
constexpr uint8_t kInfoParameter = 0x17;

/// Calls `use(attribute, payload)` for each record of a .nv.info or .nv.compat section: a format
/// byte, an attribute byte, and 2 bytes that are the value, or the size of what follows.
template <class Use>
void for_each_attribute(Bytes section, Use use) {
  ByteReader reader(section);
  while (reader.remaining() >= 4) {
    uint8_t form = reader.u8();
    uint8_t attribute = reader.u8();
    Bytes value = reader.take(2);
    if (form == 4) value = reader.take(value[0] | value[1] << 8);
    if (reader.failed()) return;
    use(attribute, value);
  }
}

/// The section of that name, if it can be read.
std::optional<ElfSection> find_section(const ElfFile& elf, std::string_view name) {
  for (uint32_t i = 1; i < elf.section_count(); ++i) {
    if (elf.section_name(i) != name) continue;
    Result<ElfSection> section = elf.section(i);
    return section ? std::optional(*section) : std::nullopt;
  }
  return std::nullopt;
}

bool arch_specific(const ElfFile& elf) {
  bool specific = false;
  if (std::optional<ElfSection> compat = find_section(elf, ".nv.compat")) {
    for_each_attribute(compat->data, [&](uint8_t attribute, Bytes value) {
      if (attribute == kCompatArchSpecific && !value.empty()) specific = value[0] == 1;
    });
  }
  return specific;
}

Result<Done> read_architecture(const ElfFile& elf, GpuBinary& binary) {
  GpuArchitecture architecture = architecture_of(elf);
  if (architecture.compute == 0)
    return elf.damaged(format("no architecture in the ELF flags 0x%x", elf.flags()));
  if (architecture.compute < kFirstWideCompute)
    return Error{
        ErrorKind::bad_input,
        format("code for sm_%u, which has 64-bit instruction encodings", architecture.compute),
        binary.name, "compile for sm_70 (Volta) or later"};
  binary.compute = architecture.compute;
  binary.arch = std::move(architecture.name);
  return Done{};
}

/// Ends each function where the next one of its section starts.
void clip(std::vector<GpuSymbol>& functions) {
  uint32_t section = 0;
  uint64_t here = 0, limit = 0;
  for (auto at = functions.rbegin(); at != functions.rend(); ++at) {
    if (at->section != section) {
      section = at->section;
      here = limit = UINT64_MAX;
    }
    if (at->offset < here) limit = std::exchange(here, at->offset);
    at->size = std::min(at->size, limit - at->offset);
  }
}

Result<Done> read_functions(const ElfFile& elf, const std::vector<ElfSymbol>& symbols,
                            GpuBinary& binary) {
  size_t name_bytes = 0;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const ElfSymbol& symbol = symbols[i];
    if (symbol.type != kElfFunctionSymbol || symbol.section == 0) continue;
    Result<ElfSection> section = elf.section(symbol.section);
    if (!section) return section.error();
    if (symbol.value > section->data.size() || symbol.size > section->data.size() - symbol.value)
      return elf.damaged(format("function symbol %u reaches beyond its section", i));
    // Each name stands in the file once; overlapping ones would multiply without end.
    name_bytes += symbol.name.size();
    if (name_bytes > binary.bytes->size()) return elf.damaged("the symbols' names overlap");
    GpuSymbol function;
    function.name = symbol.name;
    function.symbol_index = i;
    function.section = symbol.section;
    function.offset = symbol.value;
    function.size = symbol.size;
    function.is_kernel = symbol.other & kEntryPoint;
    binary.functions.push_back(std::move(function));
  }
  std::sort(binary.functions.begin(), binary.functions.end(),
            [](const GpuSymbol& a, const GpuSymbol& b) {
              return std::tie(a.section, a.offset, a.symbol_index) <
                     std::tie(b.section, b.offset, b.symbol_index);
            });
  clip(binary.functions);
  return Done{};
}

/// The resources that .nv.info tells, by symbol.
void read_info(Bytes info, const std::unordered_map<uint32_t, KernelResources*>& by_symbol) {
  for_each_attribute(info, [&](uint8_t attribute, Bytes payload) {
    ByteReader reader(payload);
    uint32_t symbol = reader.u32(), value = reader.u32();
    auto found = by_symbol.find(symbol);
    if (reader.failed() || found == by_symbol.end()) return;
    KernelResources& resources = *found->second;
    if (attribute == kInfoRegisters) resources.registers = value;
    // The minimum includes what the kernel calls; for recursion the compiler cannot tell it.
    if (attribute == kInfoFrameSize || attribute == kInfoMinStackSize)
      resources.stack = std::max(resources.stack, value);
  });
}

/// What .nv.info.KERNEL tells.
void read_kernel_info(Bytes info, KernelResources& resources) {
  for_each_attribute(info, [&](uint8_t attribute, Bytes payload) {
    ByteReader reader(payload);
    uint64_t x = reader.u32(), y = reader.u32(), z = reader.u32();
    if (attribute == kInfoMaxThreads && !reader.failed())
      resources.max_threads = static_cast<uint32_t>(std::min<uint64_t>(x * y * z, UINT32_MAX));
  });
}

uint32_t static_shared(const GpuBinary& binary, uint64_t section_size) {
  const uint64_t reserved = binary.compute >= 90 ? kReservedShared : 0;
  const uint64_t size = section_size > reserved ? section_size - reserved : 0;
  return static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
}

std::vector<KernelResources> resources_of(const GpuBinary& binary,
                                          std::span<const GpuSymbol> functions) {
  std::vector<KernelResources> all(functions.size());
  Result<ElfFile> elf = ElfFile::open(*binary.bytes, binary.name);
  if (!elf) return all;
  std::unordered_map<uint32_t, KernelResources*> by_symbol;
  std::unordered_map<std::string_view, KernelResources*> by_name;
  for (size_t i = 0; i < functions.size(); ++i) {
    by_symbol[functions[i].symbol_index] = &all[i];
    by_name[functions[i].name] = &all[i];
  }
  constexpr std::string_view kInfo = ".nv.info", kShared = ".nv.shared.";
  for (uint32_t i = 1; i < elf->section_count(); ++i) {
    std::string_view name = elf->section_name(i);
    const bool is_info = starts_with(name, kInfo), is_shared = starts_with(name, kShared);
    if (!is_info && !is_shared) continue;
    Result<ElfSection> section = elf->section(i);
    if (!section) continue;
    if (name == kInfo) {
      read_info(section->data, by_symbol);
      continue;
    }
    auto kernel = by_name.find(name.substr(is_shared ? kShared.size() : kInfo.size() + 1));
    if (kernel == by_name.end()) continue;
    if (is_shared) {
      kernel->second->static_shared = static_shared(binary, section->size);
    } else {
      read_kernel_info(section->data, *kernel->second);
    }
  }
  return all;
}

}  // namespace

// CUDA 13 (ABI version 8) moved the architecture up one byte and gave "a" another bit.
GpuArchitecture architecture_of(const ElfFile& elf) {
  const bool moved = elf.abi_version() >= 8;
  GpuArchitecture architecture;
  architecture.compute = moved ? elf.flags() >> 8 & 0xff : elf.flags() & 0xff;
  const bool specific =
      architecture.compute >= 90 && (elf.flags() & (moved ? 0x8 : 0x800) || arch_specific(elf));
  architecture.name = format("sm_%u%s", architecture.compute, specific ? "a" : "");
  return architecture;
}

const GpuSymbol* GpuBinary::find(std::string_view mangled) const {
  for (const GpuSymbol& function : functions)
    if (function.name == mangled) return &function;
  return nullptr;
}

const GpuSymbol* GpuBinary::find(uint32_t section, uint64_t offset) const {
  auto after = std::upper_bound(
      functions.begin(), functions.end(), std::tie(section, offset),
      [](const auto& place, const GpuSymbol& b) { return place < std::tie(b.section, b.offset); });
  if (after == functions.begin()) return nullptr;
  const GpuSymbol& function = *--after;
  const bool inside = function.section == section && offset - function.offset < function.size;
  return inside ? &function : nullptr;
}

Bytes GpuBinary::code(const GpuSymbol& function) const {
  Result<ElfFile> elf = ElfFile::open(*bytes, name);
  if (!elf) return {};
  Result<ElfSection> section = elf->section(function.section);
  if (!section) return {};
  return slice(section->data, function.offset, function.size).value_or(Bytes());
}

Result<GpuBinary> open_gpu_binary(std::shared_ptr<const std::vector<uint8_t>> bytes,
                                  std::string name) {
  FATHOM_INVARIANT(bytes != nullptr);
  GpuBinary binary;
  binary.bytes = std::move(bytes);
  binary.name = std::move(name);
  Result<ElfFile> elf = ElfFile::open(*binary.bytes, binary.name);
  if (!elf) return elf.error();
  if (elf->machine() != kElfMachineCuda)
    return Error{ErrorKind::bad_input,
                 format("an ELF file for machine %u, not for CUDA (190)", elf->machine()),
                 binary.name, "give a cubin; cuobjdump -xelf all takes them out of a program"};
  Result<Done> architecture = read_architecture(*elf, binary);
  if (!architecture) return architecture.error();
  Result<std::vector<ElfSymbol>> symbols = elf->symbols();
  if (!symbols) return symbols.error();
  Result<Done> functions = read_functions(*elf, *symbols, binary);
  if (!functions) return functions.error();
  Result<LineTables> lines = read_line_tables(*elf, *symbols);
  if (!lines) return lines.error();
  binary.lines = std::move(*lines);
  return binary;
}

KernelResources kernel_resources(const GpuBinary& binary, const GpuSymbol& kernel) {
  return resources_of(binary, std::span(&kernel, 1)).front();
}

std::vector<KernelResources> all_resources(const GpuBinary& binary) {
  return resources_of(binary, binary.functions);
}

KernelParameters kernel_parameters(const GpuBinary& binary, const GpuSymbol& kernel) {
  KernelParameters parameters;
  Result<ElfFile> elf = ElfFile::open(*binary.bytes, binary.name);
  if (!elf) return parameters;
  const std::optional<ElfSection> info = find_section(*elf, ".nv.info." + kernel.name);
  if (!info) return parameters;
  for_each_attribute(info->data, [&](uint8_t attribute, Bytes payload) {
    ByteReader reader(payload);
    reader.u32();
    if (attribute == kInfoParameterBank) parameters.base = reader.u16();
    if (attribute != kInfoParameter) return;
    KernelParameter parameter;
    parameter.ordinal = reader.u16();
    parameter.offset = reader.u16();
    parameter.size = reader.u32() >> 18;
    if (!reader.failed()) parameters.list.push_back(parameter);
  });
  std::sort(
      parameters.list.begin(), parameters.list.end(),
      [](const KernelParameter& a, const KernelParameter& b) { return a.ordinal < b.ordinal; });
  return parameters;
}

Bytes constant_bank(const GpuBinary& binary, const GpuSymbol& kernel, uint32_t bank) {
  Result<ElfFile> elf = ElfFile::open(*binary.bytes, binary.name);
  if (!elf) return {};
  const std::string name = format(".nv.constant%u", bank);
  std::optional<ElfSection> section = find_section(*elf, name + "." + kernel.name);
  if (!section) section = find_section(*elf, name);
  return section ? section->data : Bytes();
}

}  // namespace fathom
