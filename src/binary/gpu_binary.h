#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "binary/instruction.h"
#include "binary/line_table.h"

namespace fathom {

class ElfFile;

/// A function symbol of a cubin. Several may lie in one section (non-inlined device functions do);
/// a kernel's symbol then spans them all, but here each function ends where the next one starts.
struct GpuSymbol {
  std::string name;  ///< mangled, as in the symbol table
  uint32_t symbol_index = 0;
  uint32_t section = 0;    ///< index of its .text section
  uint64_t offset = 0;     ///< in the section
  uint64_t size = 0;       ///< bytes
  bool is_kernel = false;  ///< an entry point
};
/// What the compiler recorded for an entry point (.nv.info).
struct KernelResources {
  uint32_t registers = 0;      ///< per thread
  uint32_t static_shared = 0;  ///< bytes per block
  uint32_t stack = 0;          ///< bytes per thread
  uint32_t max_threads = 0;    ///< launch bounds; 0 if none
};

/// An ELF cubin opened for reading. Keeps the bytes alive.
struct GpuBinary {
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  std::string name;                  ///< for messages: path or SHA-256
  std::string arch;                  ///< "sm_90", "sm_90a"
  uint32_t compute = 0;              ///< 90
  std::vector<GpuSymbol> functions;  ///< sorted by section, then offset
  LineTables lines;                  ///< from .debug_line; empty if compiled without -lineinfo

  /// By exact mangled name, or null.
  const GpuSymbol* find(std::string_view mangled) const;
  /// The function whose code holds `offset` of a section, or null.
  const GpuSymbol* find(uint32_t section, uint64_t offset) const;
  /// The code bytes of a function; empty for a function of another binary.
  Bytes code(const GpuSymbol& function) const;
};

/// What a cubin was compiled for.
struct GpuArchitecture {
  uint32_t compute = 0;  ///< 90; 0 if the file does not tell
  std::string name;      ///< "sm_90", "sm_90a"
};
GpuArchitecture architecture_of(const ElfFile& elf);

/// Opens an ELF cubin. Errors name what was found instead: not ELF, another machine, 32-bit, 64-bit
/// instruction encodings (before Volta), cut off.
Result<GpuBinary> open_gpu_binary(std::shared_ptr<const std::vector<uint8_t>> bytes,
                                  std::string name);
/// Registers and memory of an entry point; zeros where the compiler recorded nothing.
KernelResources kernel_resources(const GpuBinary& binary, const GpuSymbol& kernel);
/// The same for each of GpuBinary::functions, in one pass.
std::vector<KernelResources> all_resources(const GpuBinary& binary);

/// A kernel's parameter: bytes from the first parameter.
struct KernelParameter {
  uint32_t ordinal = 0, offset = 0, size = 0;
};
struct KernelParameters {
  uint32_t base = 0;                  ///< of the first parameter in constant bank 0
  std::vector<KernelParameter> list;  ///< by ordinal; empty if the compiler recorded none
};
KernelParameters kernel_parameters(const GpuBinary& binary, const GpuSymbol& kernel);
/// What the file says about a constant bank of a kernel (2: the compiler's own constants; 3: the
/// program's, which all kernels share); empty if nothing.
Bytes constant_bank(const GpuBinary& binary, const GpuSymbol& kernel, uint32_t bank);

}  // namespace fathom
