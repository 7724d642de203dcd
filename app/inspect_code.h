#pragma once
// What `fathom inspect` finds out about the images in a file.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/containers.h"
#include "binary/decoder.h"
#include "binary/gpu_binary.h"
#include "flow/control_flow.h"

namespace fathom {

inline constexpr size_t kOpClasses = static_cast<size_t>(OpClass::other) + 1;
const char* name_of(OpClass op_class);

/// The scheduler prefers to go on with another warp: bit 109 is clear (Jia et al., Dissecting the
/// NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, section 2.1).
inline bool yields(const Control& control) {
  return !control.yield;
}

struct CodeCounts {
  uint64_t functions = 0, instructions = 0, unknown = 0, loops = 0;
  CodeCounts& operator+=(const CodeCounts& other);
};

/// A function with its instructions and their structure.
struct FunctionCode {
  const GpuBinary* binary = nullptr;
  const GpuSymbol* symbol = nullptr;
  std::string demangled;
  KernelResources resources;
  std::vector<Instruction> instructions;
  ControlFlowGraph graph;
  LoopNest loops;

  CodeCounts counts() const;
  std::array<uint64_t, kOpClasses> mix() const;
  /// Loads and stores of a thread's own memory: spilled registers, and arrays that found no place
  /// in registers.
  uint64_t local_loads() const;
  uint64_t local_stores() const;
  uint32_t loop_depth() const;
};

/// Finds blocks and loops. `binary` and `symbol` must outlive the result.
FunctionCode make_code(const GpuBinary& binary, const GpuSymbol& symbol,
                       const KernelResources& resources, std::vector<Instruction> instructions);

/// How instructions are decoded: a name for --decoder, and what makes a source.
struct Decoder {
  const char* name;
  Result<std::unique_ptr<InstructionSource>> (*make)();
  bool
      by_function;  ///< a source costs nothing to make, and reads no more than what it is asked for
};
/// All there are; the first one is the default.
const std::vector<Decoder>& decoders();
const Decoder* find_decoder(const std::string& name);

/// Unpacks and decodes an image, and calls `use` for each function with `name_part` in its name
/// (mangled or not; empty: all), in the order of their addresses, on the calling thread. Up to
/// `threads` decode, if the decoder can go by function. Errors: the image cannot be read, or it
/// cannot be decoded.
Result<Done> read_code(const GpuImage& image, const std::string& where, const Decoder& decoder,
                       const std::string& name_part, size_t threads,
                       const std::function<void(const FunctionCode&)>& use);

}  // namespace fathom
