#pragma once

#include <string>

namespace fathom {

/// Texts of PTX that make one kernel. They may use the registers that timed_kernel declares:
/// %a, %b, %c (arguments, 64 bits), %thread (in the block), %lane, %global (thread in the grid),
/// %t (32 bits, for anything), %sum, %at (64 bits), %r0..7 and %h0..7 (32 bits), %w0..7 (64 bits),
/// %f, %g, %k, %l0..7 (float), %d, %e0..7 (double), %p0..7 (predicates), %ra, %rb, %ha, %hb, %fa,
/// %fb, %da, %db; and `words`, 1024 words of shared memory.
struct TimedKernel {
  std::string setup;  ///< before the clock is read
  std::string body;   ///< once in each round
  std::string fold;   ///< folds what was computed into %sum, so that it is not left out
};

/// A kernel bench(out, rounds, a, b, c) of 64-bit arguments. Its warps start together, go `rounds`
/// times round the body, and lane 0 of each writes {begin, end, multiprocessor}, the first two in
/// cycles of clock64, to out + 24 * (block * warps + warp).
std::string timed_kernel(const TimedKernel& kernel, unsigned compute);

/// The text with each `{c}` replaced by a number.
std::string for_chain(const std::string& text, int chain);

}  // namespace fathom
