#include "attribution/timeline.h"

#include <algorithm>
#include <map>

namespace fathom {
namespace {

bool occupies_device(const GpuOperation& operation) {
  return operation.end_ns > operation.start_ns &&
         (operation.kind == GpuOperationKind::kernel || operation.kind == GpuOperationKind::copy ||
          operation.kind == GpuOperationKind::memory_set);
}

bool crosses_the_bus(CopyKind kind) {
  switch (kind) {
    case CopyKind::h2d:
    case CopyKind::d2h:
    case CopyKind::h2a:
    case CopyKind::a2h:
      return true;
    default:
      return false;
  }
}

/// Adds the operations of one device, by start time.
void add_device(const std::vector<const GpuOperation*>& operations, GpuTimeline& timeline) {
  uint64_t busy_until = operations.front()->start_ns, kernel_until = busy_until;
  uint64_t first = busy_until, kernel_ns = 0, idle_ns = 0, last = busy_until;
  for (const GpuOperation* operation : operations) {
    uint64_t start = operation->start_ns, end = operation->end_ns;
    if (start > busy_until) {
      double gap = double(start - busy_until) * 1e-9;
      idle_ns += start - busy_until;
      bool is_short = gap < GpuTimeline::kShortGap && operation->kind == GpuOperationKind::kernel;
      (is_short ? timeline.short_gaps : timeline.long_gaps) += gap;
      timeline.gaps += is_short;
    }
    if (operation->kind == GpuOperationKind::kernel) {
      ++timeline.launches;
      if (end > kernel_until) kernel_ns += end - std::max(start, kernel_until);
      kernel_until = std::max(kernel_until, end);
    } else if (operation->kind == GpuOperationKind::copy && crosses_the_bus(operation->copy_kind)) {
      timeline.copied_bytes += operation->bytes;
      ++timeline.copy_count;
    }
    busy_until = std::max(busy_until, end);
    last = std::max(last, end);
  }
  double span = double(last - first) * 1e-9, kernels = double(kernel_ns) * 1e-9;
  timeline.span += span;
  timeline.kernels += kernels;
  timeline.copies += std::max(0.0, span - kernels - double(idle_ns) * 1e-9);
}

}  // namespace

GpuTimeline timeline_of(const Measurement& measurement) {
  GpuTimeline timeline;
  for (const Process& process : measurement.processes) {
    std::map<uint32_t, std::vector<const GpuOperation*>> devices;
    for (const GpuOperation& operation : process.operations)
      if (occupies_device(operation)) devices[operation.device].push_back(&operation);
    for (auto& [device, operations] : devices) {
      std::stable_sort(
          operations.begin(), operations.end(),
          [](const GpuOperation* a, const GpuOperation* b) { return a->start_ns < b->start_ns; });
      add_device(operations, timeline);
    }
  }
  return timeline;
}

}  // namespace fathom
