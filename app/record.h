#pragma once

#include <string>
#include <vector>

namespace fathom {

struct RecordArguments {
  std::vector<std::string> events, program;
  std::string directory;
  int trace = 0;
  bool list = false;
};

/// `fathom record`: runs a program and measures it into a directory.
int run_record(const RecordArguments& arguments);

}  // namespace fathom
