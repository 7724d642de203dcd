#pragma once

#include <string>

namespace fathom {

struct InspectArguments {
  std::string file, arch, function, decoder, color = "auto", extract;
  bool list = false, summary = false, disassemble = false, cfg = false, json = false;
};

/// `fathom inspect`: shows the GPU code in a file.
int run_inspect(const InspectArguments& arguments);

}  // namespace fathom
