#include "attribution/allocations.h"

namespace fathom {

Allocations::Allocations(const std::vector<GpuOperation>& operations) {
  for (const GpuOperation& each : operations) {
    if (each.address == 0) continue;
    std::vector<Span>& spans = by_start_[each.address];
    if (each.kind == GpuOperationKind::allocate && each.bytes <= UINT64_MAX - each.address)
      spans.push_back({each.start_ns, UINT64_MAX, each.address + each.bytes});
    else if (each.kind == GpuOperationKind::release && !spans.empty())
      spans.back().to_ns = each.start_ns;
  }
}

uint64_t Allocations::bytes_from(uint64_t address, uint64_t time_ns) const {
  // Allocations of one time do not overlap, but one that is gone may have begun in between.
  constexpr int kMostTried = 64;
  auto at = by_start_.upper_bound(address);
  for (int i = 0; i < kMostTried && at != by_start_.begin(); ++i) {
    --at;
    for (const Span& each : at->second)
      if (each.from_ns <= time_ns && time_ns <= each.to_ns && address < each.end)
        return each.end - address;
  }
  return 0;
}

}  // namespace fathom
