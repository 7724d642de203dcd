#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace fathom {

/// The top-down hierarchy of GPU cycles (HPCToolkit manual, figure 9.8). A parent comes before its
/// children.
enum class TopDown : uint8_t {
  cycles,
  issues,
  issue_compute,
  issue_vector,
  issue_matrix,
  issue_dual,
  issue_single,
  issue_scalar,
  issue_memory,
  issue_flat,
  issue_lds,
  issue_lds_direct,
  issue_texture,
  issue_communication,
  issue_message,
  issue_export,
  issue_control,
  issue_jump,
  issue_branch,
  issue_branch_taken,
  issue_branch_not_taken,
  issue_synchronization,
  issue_other,
  exposed,
  front_end,
  instruction_fetch,
  back_end,
  compute,
  instruction_dependence,
  memory,
  memory_latency,
  global_memory,
  constant_memory,
  texture_memory,
  memory_request,
  flat_request,
  texture_request,
  lds_request,
  resource,
  branch_unit,
  pipeline,
  synchronization,
  miscellaneous,
  internal,
  sleep,
  other,
  hidden,
  not_selected,
  other_hidden
};
inline constexpr size_t kTopDownCount = 49;

struct TopDownNode {
  TopDown id;
  TopDown parent;            ///< itself for the root
  std::string_view metric;   ///< "GCYCLES:STL:BE:MEM:LAT:GMEM"
  std::string_view title;    ///< "Global Memory Stalls"
  std::string_view meaning;  ///< plain words, for a person who never saw machine code
};
std::span<const TopDownNode> topdown_nodes();
const TopDownNode& topdown_node(TopDown id);

/// Samples at each node: `own` as attributed; `inclusive()` adds each node's descendants.
struct TopDownCounts {
  std::array<double, kTopDownCount> own{};
  double& operator[](TopDown id) { return own[static_cast<size_t>(id)]; }
  double operator[](TopDown id) const { return own[static_cast<size_t>(id)]; }
  TopDownCounts& operator+=(const TopDownCounts& other);
  TopDownCounts inclusive() const;
};

}  // namespace fathom
