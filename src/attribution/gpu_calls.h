#pragma once

#include "attribution/functions.h"
#include "flow/call_graph.h"

namespace fathom {

/// Who called the device functions, as far as flat samples tell (HPCToolkit manual,
/// section 10.4.1): a function's samples are divided among its call sites by the samples of the
/// call instructions, evenly if none has any. Mutually recursive functions are one unit. All
/// figures are of one process.
struct GpuCalls {
  CallGraph graph;
  std::vector<double> share;  ///< by site: of the callee's (or its unit's) samples
  std::vector<std::vector<uint32_t>> sites_of;  ///< by caller: indexes of sites that leave its unit
  std::vector<std::vector<uint32_t>> members;   ///< by unit (component): functions
  std::vector<bool> is_root;  ///< by function: nobody known calls it (kernels, and orphans)

  /// fraction[f][root]: how much of f's samples was spent on behalf of that root.
  std::vector<std::map<uint32_t, double>> fractions() const;
};

/// `weight` gives the samples of an instruction of a function in the process.
GpuCalls find_gpu_calls(const std::vector<AnalyzedFunction>& functions,
                        const ProcessSamples& samples);

}  // namespace fathom
