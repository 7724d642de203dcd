#pragma once

namespace fathom {

/// `fathom doctor`: tells what works on this machine, what the rest costs, and what to do about it.
/// 0 if something can be recorded.
int run_doctor();

}  // namespace fathom
