#pragma once

#include "advice/kernel_view.h"

namespace fathom {

/// How a launch fills a device.
struct Residency {
  double busy_multiprocessors = 0;
  double warps_per_scheduler = 0;  ///< W, on a busy multiprocessor
};

/// Blocks are spread over all multiprocessors before one gets a second block.
Residency residency(const KernelView& view, const LaunchGroup& group);

/// Names the launch as the finding's place if the host program has line tables, else the kernel.
void place_at_launch(const KernelView& view, Finding& finding);

}  // namespace fathom
