#pragma once
// What `fathom inspect` finds out about the images in a file.

#include <array>
#include <functional>
#include <set>
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
  /// Names of the functions that it calls, mangled, sorted; those that are known.
  std::set<std::string> callees() const;
};

/// Finds blocks and loops. `binary` and `symbol` must outlive the result.
FunctionCode make_code(const GpuBinary& binary, const GpuSymbol& symbol,
                       const KernelResources& resources, std::vector<Instruction> instructions);

/// How instructions are decoded: a name for --decoder, and what makes a source.
struct Decoder {
  const char* name;
  Result<std::unique_ptr<InstructionSource>> (*make)(InstructionText);
  bool concurrent;  ///< several threads may use one source at once
};
/// All there are; the first one is the default.
const std::vector<Decoder>& decoders();
const Decoder* find_decoder(const std::string& name);

/// What of an image's functions is to be read.
struct CodeRequest {
  std::string name_part;  ///< functions with that in their name, mangled or not; empty: all
  InstructionText text = InstructionText::written;
  size_t threads = 1;  ///< that decode, if the decoder lets them
};
/// Unpacks and decodes an image, and calls `use` for each function that is asked for,
/// in the order of their addresses, on the calling thread. Errors: the image cannot be read, or it
/// cannot be decoded.
Result<Done> read_code(const GpuImage& image, const std::string& where, const Decoder& decoder,
                       const CodeRequest& request,
                       const std::function<void(const FunctionCode&)>& use);

}  // namespace fathom
