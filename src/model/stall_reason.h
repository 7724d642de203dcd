#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom {

/// Why a sampled warp did not issue, in NVIDIA's terms for Volta and later (CUPTI's
/// `smsp__pcsamp_warps_issue_stalled_*`). `selected` means that it did issue.
enum class StallReason : uint8_t {
  selected,
  not_selected,
  long_scoreboard,
  short_scoreboard,
  wait,
  math_pipe_throttle,
  dispatch_stall,
  lg_throttle,
  mio_throttle,
  tex_throttle,
  imc_miss,
  no_instructions,
  branch_resolving,
  barrier,
  membar,
  warpgroup_arrive,
  drain,
  sleeping,
  misc
};
inline constexpr size_t kStallReasonCount = 19;

/// "long_scoreboard"
std::string_view name_of(StallReason reason);
/// Plain words for somebody who never saw machine code: "waiting for data from global or local
/// memory".
std::string_view explain(StallReason reason);

/// A vendor's metric name read: its reason, and whether it is the twin that counts only samples in
/// which the scheduler issued nothing (`..._not_issued`).
struct VendorReason {
  StallReason reason;
  bool not_issued;
};
/// Matches by suffix. Nothing for names that are no stall reason or unknown.
std::optional<VendorReason> parse_vendor_reason(std::string_view vendor_name);

/// Samples of one instruction: `all` counts each sampled warp, `latency` only those in which the
/// scheduler issued nothing. latency[r] <= all[r].
struct StallCounts {
  std::array<uint64_t, kStallReasonCount> all{};
  std::array<uint64_t, kStallReasonCount> latency{};

  uint64_t total() const;          ///< every sample
  uint64_t total_latency() const;  ///< samples without an issue: exposed
  uint64_t active() const { return total() - total_latency(); }
  uint64_t issued() const { return all[0]; }
  uint64_t stalls() const { return total() - issued(); }  ///< all but selected
  StallCounts& operator+=(const StallCounts& other);
};

}  // namespace fathom
