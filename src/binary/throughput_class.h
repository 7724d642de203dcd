#pragma once

#include <string>
#include <string_view>

#include "binary/instruction.h"

namespace fathom {

/// The class of a SASS instruction by which machine models list throughputs: finer than class_name.
std::string sass_class(std::string_view opcode, OpClass op_class, MemorySpace space);

}  // namespace fathom
