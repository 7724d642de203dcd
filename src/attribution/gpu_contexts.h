#pragma once

#include <set>

#include "attribution/context_tree.h"
#include "attribution/gpu_calls.h"
#include "attribution/metrics.h"
#include "attribution/topdown_mapping.h"

namespace fathom {

/// Adds what is below a "<gpu kernel>" placeholder: the kernel's function with its inlined
/// functions, loops and lines, and the device functions that it calls, each with its part of the
/// samples. Values are GCYCLES:* in cycles.
class GpuContexts {
 public:
  GpuContexts(const Attribution& attribution, const ProcessSamples& samples, const GpuCalls& calls,
              double cycles_per_sample, ContextTree& tree, MetricTable& metrics);

  /// The function's node under `parent`.
  uint32_t function_node(uint32_t parent, uint32_t function);
  /// `fraction` of all samples (of any correlation) of `function`, and what it calls, below `node`.
  void add_shared(uint32_t node, uint32_t function, double fraction);
  /// The samples of one launch exactly; and its callees' of the same launch.
  void add_exact(uint32_t node, uint32_t function, uint32_t correlation);
  /// Samples that no launch claimed, below a node of their own under `parent`, so that nothing is
  /// lost.
  void add_unclaimed(uint32_t parent);

 private:
  using Counts = std::map<uint32_t, TopDownCounts>;  ///< by instruction
  struct Work {
    uint32_t node, function;
    double fraction;
  };

  void add_instructions(uint32_t node, uint32_t function, const Counts& counts, double fraction);
  uint32_t scope_of(uint32_t node, uint32_t function, uint32_t instruction);
  Counts counts_of(uint32_t function, uint32_t correlation, bool any_correlation);
  const Counts& total_of(uint32_t function);

  const Attribution& attribution_;
  const ProcessSamples& samples_;
  const GpuCalls& calls_;
  double cycles_per_sample_;
  ContextTree& tree_;
  MetricTable& metrics_;
  std::map<uint32_t, Counts> totals_;
  std::set<SampleKey> claimed_;
  std::map<uint32_t, TopDownMapper> mappers_;
};

}  // namespace fathom
