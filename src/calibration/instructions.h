#pragma once
// The arithmetic that calibration measures, class by class, as PTX.

#include <string>
#include <vector>

#include "calibration/kernel.h"

namespace fathom {

/// One operation of a chain. `{c}` in a text is the chain's number; every chain has its registers
/// %r{c}, %w{c} (64 bits), %f{c}, %g{c}, %k{c}, %l{c}, %d{c}, %e{c}, %h{c}, %p{c}, and all share
/// the operands %ra, %rb, %fa, %fb, %da, %db, %ha and %hb, which the compiler cannot know.
struct MeasuredInstruction {
  std::string name;                  ///< class: "fp32", or a finer one: "fp32_add"
  std::vector<std::string> opcodes;  ///< what it becomes, as in Microbenchmark
  std::string body;                  ///< depends on the chain's registers and sets them anew
  int measured = 1;                  ///< how many of `opcodes` one body becomes
  int compute = 70;                  ///< the least compute capability that has it
  /// The class of a second instruction in the chain, whose latency is taken off; empty: none.
  std::string also = {};
  std::string setup = {};  ///< once for each chain, before the loop
};

/// Everything that is measured, `integer` and `fp32` first: others are measured in chains with
/// them.
const std::vector<MeasuredInstruction>& measured_instructions();

/// A kernel whose warps go round a loop of `bodies` bodies on `chains` chains in turn; see
/// timed_kernel. Its argument `a` is a seed.
Microbenchmark arithmetic_benchmark(const MeasuredInstruction& instruction, unsigned compute,
                                    int chains, int bodies);

}  // namespace fathom
