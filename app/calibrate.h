#pragma once

#include <string>

namespace fathom {

struct CalibrateArguments {
  int device = 0;
  std::string output;
};

/// `fathom calibrate`: measures a GPU and writes a machine model.
int run_calibrate(const CalibrateArguments& arguments);

}  // namespace fathom
