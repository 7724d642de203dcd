#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/gpu_binary.h"

namespace fathom {

/// Turns a function's bytes into instructions. Implementations: nvdisasm's text; the table of
/// encodings that is part of the program.
class InstructionSource {
 public:
  virtual ~InstructionSource() = default;
  /// Instructions in address order, padding after the last one left out.
  virtual Result<std::vector<Instruction>> decode(const GpuBinary& binary,
                                                  const GpuSymbol& function) = 0;
  /// "nvdisasm 13.0.85", for messages and databases.
  virtual std::string description() const = 0;
};

enum class DecoderKind : uint8_t { native, nvdisasm };
enum class InstructionText : uint8_t { left_out, written };

/// Reads text that `nvdisasm -c` printed earlier for the whole binary.
Result<std::unique_ptr<InstructionSource>> nvdisasm_text(std::string text, std::string tool);
/// Runs nvdisasm once for a binary, when its first function is asked for.
/// Errors: nvdisasm was not found (the hint says how to get it), or does not know the architecture.
Result<std::unique_ptr<InstructionSource>> nvdisasm_program();
/// Reads the machine code itself; needs no other program. The text is nvdisasm's, but for labels
/// (an offset in the function stands there) and some numbers.
/// Errors of decode(): an architecture that the table of encodings does not have.
/// Several threads may use it at once. With InstructionText::left_out, Instruction::text stays
/// empty, which takes less time.
std::unique_ptr<InstructionSource> native_decoder(InstructionText text = InstructionText::written);
/// Whether the table of encodings has an architecture ("compute" 90 for sm_90 and sm_90a).
bool decodes_natively(unsigned compute);
/// FATHOM_NVDISASM, PATH, the CUDA toolkit, Python packages; nothing if there is none.
std::optional<std::string> find_nvdisasm();
/// The text that nvdisasm prints for a cubin file; what nvdisasm_text() takes.
Result<std::string> run_nvdisasm(const std::string& nvdisasm, const std::string& cubin_path);

}  // namespace fathom
