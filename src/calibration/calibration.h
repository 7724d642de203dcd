#pragma once

#include <functional>
#include <string>

#include "calibration/driver.h"
#include "calibration/figures.h"
#include "machine/machine.h"

namespace fathom {

/// Runs every microbenchmark on a GPU; `progress` is told what comes next. What fails is listed in
/// Figures::failures and the rest goes on. Takes a minute or two. Errors: nothing can be run at
/// all.
Result<Figures> calibrate(CudaDriver& driver,
                          const std::function<void(const std::string&)>& progress);

/// For people: the figures that matter most, with their spread, and what failed.
std::string calibration_summary(const std::string& device, const Figures& figures);

/// The machine data file (JSON) of a device: limits, latencies for the advisor and all that was not
/// measured are those of `base`, the figures' object "prediction" lies over its own. Beside what
/// machine.h names it holds "spread" (path -> [lowest, highest]), "curves" (tables), "code" (the
/// instructions that were found in each loop), "taken_over" (paths that were not measured) and
/// "failures". `measured` is a date, "2025-01-31".
std::string machine_json(const MachineModel& base, const std::string& device,
                         uint32_t multiprocessors, uint64_t l2_bytes, const Figures& figures,
                         const std::string& measured);

}  // namespace fathom
