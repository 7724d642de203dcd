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

bool is_host_copy(const GpuOperation& operation) {
  return operation.kind == GpuOperationKind::copy && crosses_the_bus(operation.copy_kind);
}

/// Walks the operations of one device by start time.
class DeviceWalk {
 public:
  DeviceWalk(const GpuOperation& first, GpuTimeline& timeline)
      : timeline_(timeline), first_(first.start_ns), busy_until_(first_), kernel_until_(first_) {}

  void add(const GpuOperation& operation) {
    if (operation.start_ns > busy_until_) add_gap(operation);
    if (operation.kind == GpuOperationKind::kernel) {
      ++timeline_.launches;
      if (operation.end_ns > kernel_until_)
        kernel_ns_ += operation.end_ns - std::max(operation.start_ns, kernel_until_);
      kernel_until_ = std::max(kernel_until_, operation.end_ns);
      kernel_seen_ = true;
    } else if (is_host_copy(operation)) {
      timeline_.copied_bytes += operation.bytes;
      ++timeline_.copy_count;
    }
    if (operation.end_ns >= busy_until_) after_copy_ = is_host_copy(operation);
    busy_until_ = std::max(busy_until_, operation.end_ns);
  }

  void finish() {
    double span = double(busy_until_ - first_ - pause_ns_) * 1e-9;
    double kernels = double(kernel_ns_) * 1e-9, idle = double(idle_ns_) * 1e-9;
    timeline_.span += span;
    timeline_.kernels += kernels;
    timeline_.copies += std::max(0.0, span - kernels - idle);
  }

 private:
  void add_gap(const GpuOperation& next) {
    uint64_t gap_ns = next.start_ns - busy_until_;
    if (next.kind == GpuOperationKind::kernel && !kernel_seen_) {
      pause_ns_ += gap_ns;
      return;
    }
    idle_ns_ += gap_ns;
    double gap = double(gap_ns) * 1e-9;
    if (after_copy_ || is_host_copy(next)) {
      timeline_.copy_gaps += gap;
    } else if (gap < GpuTimeline::kShortGap && next.kind == GpuOperationKind::kernel) {
      timeline_.short_gaps += gap;
      ++timeline_.gaps;
    } else {
      timeline_.long_gaps += gap;
    }
  }

  GpuTimeline& timeline_;
  uint64_t first_, busy_until_, kernel_until_;
  uint64_t kernel_ns_ = 0, idle_ns_ = 0, pause_ns_ = 0;
  bool kernel_seen_ = false, after_copy_ = false;
};

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
      DeviceWalk walk(*operations.front(), timeline);
      for (const GpuOperation* operation : operations) walk.add(*operation);
      walk.finish();
    }
  }
  return timeline;
}

}  // namespace fathom
