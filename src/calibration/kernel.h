#pragma once
// A microbenchmark's machine code, checked.

#include <string>
#include <vector>

#include "binary/instruction.h"
#include "calibration/driver.h"

namespace fathom {

/// PTX with one entry point `bench` whose loop holds what is measured.
struct Microbenchmark {
  std::string name;
  std::string ptx;
  /// The measured instructions' opcodes; one with a dot is compared with its modifiers too
  /// ("IMAD.WIDE"), and matches what begins with it.
  std::vector<std::string> opcodes;
  int expected = 0;  ///< how many of them the loop must hold; 0: only that there are some
};

/// Counts the instructions of the innermost loop (the last backward branch that encloses the most
/// of them) with one of the opcodes. `text` gets the loop's opcodes with their counts.
int count_in_loop(const std::vector<Instruction>& code, const std::vector<std::string>& opcodes,
                  std::string* text);

/// Decodes the cubin's `bench` and counts; an error if the loop does not hold what is expected.
Result<int> check_code(const Microbenchmark& benchmark, std::vector<uint8_t> cubin,
                       std::string* text);

struct LoadedBenchmark {
  void* function = nullptr;
  int measured = 0;  ///< instructions in the loop
  std::string text;
};
Result<LoadedBenchmark> load_benchmark(CudaDriver& driver, const Microbenchmark& benchmark);

}  // namespace fathom
