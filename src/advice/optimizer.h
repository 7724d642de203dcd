#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "advice/kernel_view.h"
#include "model/finding.h"

namespace fathom {

/// Matches one inefficiency in a kernel. To add one: a file with a class like the others', and its
/// line in optimizers.cpp. An optimizer keeps no state.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// "strength-reduction": Finding::kind.
  virtual std::string_view kind() const = 0;
  /// What it found in this kernel; nothing if the pattern does not occur. Fill everything but kind,
  /// subject and program_speedup.
  virtual std::vector<Finding> match(const KernelView& view) const = 0;
};

/// Every optimizer, in a fixed order.
const std::vector<std::unique_ptr<Optimizer>>& optimizers();

// One line for each file; the list is in optimizers.cpp.
std::unique_ptr<Optimizer> make_strength_reduction();
std::unique_ptr<Optimizer> make_loop_unrolling();
std::unique_ptr<Optimizer> make_code_reordering();
std::unique_ptr<Optimizer> make_warp_balance();
std::unique_ptr<Optimizer> make_coalescing();
std::unique_ptr<Optimizer> make_memory_transaction_reduction();
std::unique_ptr<Optimizer> make_vectorized_loads();
std::unique_ptr<Optimizer> make_bank_conflicts();
std::unique_ptr<Optimizer> make_atomic_contention();
std::unique_ptr<Optimizer> make_constant_indexing();
std::unique_ptr<Optimizer> make_asynchronous_copy();
std::unique_ptr<Optimizer> make_tensor_cores();
std::unique_ptr<Optimizer> make_block_increase();
std::unique_ptr<Optimizer> make_thread_increase();
std::unique_ptr<Optimizer> make_register_reuse();
std::unique_ptr<Optimizer> make_function_inlining();
std::unique_ptr<Optimizer> make_function_split();
std::unique_ptr<Optimizer> make_fast_math();
std::unique_ptr<Optimizer> make_occupancy_increase();
std::unique_ptr<Optimizer> make_tail_effect();
std::unique_ptr<Optimizer> make_divergence();
std::unique_ptr<Optimizer> make_branch_elimination();

/// Places of the hottest pairs of cause and waiting line, for Finding::related.
std::vector<RelatedLocation> related_of(const Hotspots& hotspots, size_t most);
/// The evidence that every finding from samples carries: how many matched, and of how many.
std::vector<Evidence> sample_evidence(const KernelView& view, double matched);

}  // namespace fathom
