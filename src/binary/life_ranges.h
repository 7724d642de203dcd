#pragma once
// Only for tests: reads what `nvdisasm -c -lrm narrow` marks beside each instruction.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "binary/instruction.h"

namespace fathom {

struct RegisterMarks {
  std::string text;
  std::vector<Register> defs, uses;  ///< sorted; general, uniform and predicate registers only
};
/// By section name, then offset in the section.
using LifeRanges = std::map<std::string, std::map<uint64_t, RegisterMarks>>;
LifeRanges read_life_ranges(std::string_view text);

}  // namespace fathom
