#pragma once

#include <string_view>
#include <vector>

namespace fathom {

struct MachineData {
  std::string_view file;  ///< "sm_90.json"
  std::string_view json;
};
/// The files of src/machine/data, in order of their names. The build writes this function.
const std::vector<MachineData>& machine_data();

}  // namespace fathom
