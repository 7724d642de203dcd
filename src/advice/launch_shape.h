#pragma once

#include <algorithm>
#include <cmath>

#include "advice/kernel_view.h"

namespace fathom {

/// How a launch fills a device.
struct Residency {
  double busy_multiprocessors = 0;
  double warps_per_scheduler = 0;  ///< W, on a busy multiprocessor
};

/// Blocks are spread over all multiprocessors before one gets a second block.
inline Residency residency(const KernelView& view, const LaunchGroup& group) {
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

}  // namespace fathom
