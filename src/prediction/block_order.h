#pragma once

#include "prediction/program.h"

namespace fathom {

/// Puts the steps of a block (both indexes inclusive) into an order in which an assembler might:
/// what takes long first, as far as registers, memory and barriers allow. The last step stays last
/// if it decides where the way goes on.
void order_block(Program& program, uint32_t first, uint32_t last);

}  // namespace fathom
