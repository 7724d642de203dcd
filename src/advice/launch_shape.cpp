#include "advice/launch_shape.h"

#include <algorithm>
#include <cmath>

namespace fathom {

Residency residency(const KernelView& view, const LaunchGroup& group) {
  Residency result;
  const DeviceFacts* device = view.device();
  if (!device || device->multiprocessors == 0) return result;
  double blocks = double(group.shape.blocks());
  double warps_per_block = std::ceil(double(group.shape.threads_per_block()) / 32);
  result.busy_multiprocessors = std::min(blocks, double(device->multiprocessors));
  if (result.busy_multiprocessors == 0) return result;
  double blocks_each =
      std::min(blocks / result.busy_multiprocessors, double(group.occupancy.active_blocks));
  result.warps_per_scheduler = blocks_each * warps_per_block / view.machine().schedulers;
  return result;
}

void place_at_launch(const KernelView& view, Finding& finding) {
  SourceLocation launch = view.launch_site(), kernel = view.first_line();
  finding.location = launch.line ? launch : kernel;
  if (launch.line && kernel.line) finding.related.push_back({"kernel", kernel, view.kernel().name});
}

}  // namespace fathom
