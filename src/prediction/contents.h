#pragma once
// What the elements of a buffer look like, where the caller says so or the code shows it: numbers
// are made up alike.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom {

/// Numbers at random between two bounds. Of the bits of an f64 32 are random, as in the launches
/// that power was learned from.
struct BufferContents {
  enum class Number : uint8_t { whole, real, brain };  ///< brain: bfloat16
  Number number = Number::whole;
  uint8_t size = 4;  ///< bytes of an element: 1, 2, 4 or 8
  bool any = true;   ///< whole numbers of any bits; otherwise low to high
  double low = 0, high = 1;
  uint64_t rising_over = 0;  ///< elements from the least to the largest, in order; 0: at random

  /// What counts as usual: numbers between 0 and 1.
  static BufferContents floats(uint8_t size = 4) { return {Number::real, size, true, 0, 1, 0}; }
};

/// "f32", "u8:0..3", "i32:-100..100": f16, bf16, f32, f64, u8 to u64 or i8 to i64, and the least
/// and the largest value (of floats 0 to 1, of whole numbers any where nothing is said); with
/// ":rising" behind them of what is sorted. `bytes` are the buffer's, and `place` is what an error
/// names.
Result<BufferContents> read_contents(const std::string& text, uint64_t bytes,
                                     const std::string& place);

/// Four bytes such as may be at an address, a multiple of 4, and always the same there. What rises
/// counts as random here: what is looked up by it is no nearer than --near says.
uint32_t word_of(const BufferContents& contents, uint64_t address);

/// Share of the bits that differ from one sector of 32 bytes to the next.
double changing_share(const BufferContents& contents);

}  // namespace fathom
