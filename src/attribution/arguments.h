#pragma once

#include <map>
#include <string>
#include <vector>

#include "attribution/allocations.h"
#include "measurement/measurement.h"
#include "model/measured_launches.h"

namespace fathom {

/// What is known of the arguments of one process's launches.
class RecordedArguments {
 public:
  explicit RecordedArguments(const Process& process);

  struct Known {
    const std::vector<KnownArgument>* arguments = nullptr;  ///< null: nothing was recorded
    bool of_others = false;  ///< this launch has none: those that the kernel had most often
  };
  Known of(const GpuOperation& launch);

 private:
  const std::vector<KnownArgument>& resolved(uint32_t set, uint64_t time_ns);

  const Process& process_;
  Allocations allocations_;
  std::map<std::string, uint32_t> usual_;  ///< the set that a kernel had most often
  std::map<uint32_t, std::vector<KnownArgument>> resolved_;
};

}  // namespace fathom
