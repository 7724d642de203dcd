#pragma once
// From a file to kernels: CUDA source through nvcc, PTX through ptxas, cubins and fat binaries as
// they are.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binary/gpu_binary.h"
#include "binary/ptx.h"
#include "prediction/launch.h"

namespace fathom {

struct SourceOptions {
  std::string arch;                  ///< of the device: "sm_90"
  std::optional<std::string> ptxas;  ///< a path; "none": PTX is used as it is; nothing: found
  std::string kernel;                ///< a part of the name; empty: all
};

struct KernelSource {
  std::string path;
  std::shared_ptr<const std::string> ptx_text;  ///< what `ptx` points into
  std::optional<PtxModule> ptx;
  std::optional<GpuBinary> binary;   ///< nothing: only PTX is known
  std::string note;                  ///< why there is only PTX
  std::vector<std::string> kernels;  ///< mangled names that were asked for

  /// Parameters of a kernel, named as in the source if that can be read.
  std::vector<Parameter> parameters(const std::string& kernel) const;
};

/// Errors: the file cannot be read; broken PTX (with its line); a compiler's complaint; no kernel
/// of that name (the hint lists those there are).
Result<KernelSource> open_kernels(const std::string& path, const SourceOptions& options);

/// The names of a kernel's parameters in CUDA source; empty if it is not declared there.
std::vector<std::string> parameter_names(std::string_view source, const std::string& kernel);

/// Puts the caller's values in: keys are positions from 0, or names.
/// Errors: no such parameter (the hint lists them), no number.
Result<Done> apply_arguments(const std::vector<ArgumentValue>& arguments,
                             std::vector<Parameter>& parameters);

}  // namespace fathom
