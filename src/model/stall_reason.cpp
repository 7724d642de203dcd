#include "model/stall_reason.h"

#include <numeric>

namespace fathom {
namespace {

struct ReasonText {
  std::string_view name;
  std::string_view meaning;
};

/// In the order of StallReason.
constexpr std::array<ReasonText, kStallReasonCount> kReasons = {{
    {"selected", "issuing an instruction"},
    {"not_selected", "ready, but another warp was chosen"},
    {"long_scoreboard", "waiting for data from global or local memory"},
    {"short_scoreboard", "waiting for shared memory or a special-function unit"},
    {"wait", "waiting a fixed time for the previous instruction's result"},
    {"math_pipe_throttle", "waiting for a busy arithmetic unit"},
    {"dispatch_stall", "held back by the dispatcher"},
    {"lg_throttle", "waiting to send another global or local memory request: the queue is full"},
    {"mio_throttle",
     "waiting to send a shared-memory or special-function request: the queue is full"},
    {"tex_throttle", "waiting to send a texture request: the queue is full"},
    {"imc_miss", "waiting for constant memory"},
    {"no_instructions", "waiting for the next instructions to be fetched"},
    {"branch_resolving", "waiting for a branch target"},
    {"barrier", "waiting for other warps at a block-wide barrier"},
    {"membar", "waiting at a memory fence"},
    {"warpgroup_arrive", "waiting for the warp group"},
    {"drain", "waiting for stores to finish before the warp can end"},
    {"sleeping", "sleeping on request"},
    {"misc", "waiting for another reason"},
}};

}  // namespace

std::string_view name_of(StallReason reason) {
  return kReasons[static_cast<size_t>(reason)].name;
}
std::string_view explain(StallReason reason) {
  return kReasons[static_cast<size_t>(reason)].meaning;
}

std::optional<VendorReason> parse_vendor_reason(std::string_view vendor_name) {
  constexpr std::string_view kTwin = "_not_issued";
  VendorReason result{StallReason::misc, false};
  if (vendor_name.size() > kTwin.size() &&
      vendor_name.substr(vendor_name.size() - kTwin.size()) == kTwin) {
    result.not_issued = true;
    vendor_name.remove_suffix(kTwin.size());
  }
  // The longest match wins: "..._stalled_not_selected" also ends in "selected".
  size_t longest = 0;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    std::string_view name = kReasons[i].name;
    if (name.size() <= longest || vendor_name.size() < name.size()) continue;
    size_t at = vendor_name.size() - name.size();
    if (vendor_name.substr(at) != name || (at > 0 && vendor_name[at - 1] != '_')) continue;
    longest = name.size();
    result.reason = static_cast<StallReason>(i);
  }
  if (longest == 0) return std::nullopt;
  return result;
}

uint64_t StallCounts::total() const {
  return std::accumulate(all.begin(), all.end(), uint64_t{0});
}
uint64_t StallCounts::total_latency() const {
  return std::accumulate(latency.begin(), latency.end(), uint64_t{0});
}

StallCounts& StallCounts::operator+=(const StallCounts& other) {
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    all[i] += other.all[i];
    latency[i] += other.latency[i];
  }
  return *this;
}

}  // namespace fathom
