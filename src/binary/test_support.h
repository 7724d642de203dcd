#pragma once
// What the tests of this module share.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binary/decoder.h"
#include "binary/gpu_binary.h"

namespace fathom {

/// tests/fixtures/cubin/NAME
std::string cubin_fixture(const std::string& name);
std::shared_ptr<const std::vector<uint8_t>> fixture_bytes(const std::string& name);
/// Opens a fixture; ends the test run if that fails.
GpuBinary open_fixture(const std::string& name);
/// The instructions of NAME.cubin as NAME.sass has them.
std::unique_ptr<InstructionSource> fixture_source(const std::string& name);

/// "inlining_inner.h:4 < inlining_outer.h:5 _Z5innerf < inlining.cu:21 _Z5outerf": a row, then the
/// calls that it was inlined through, innermost first.
std::string describe_row(const LineTables& lines, const LineRow& row);
/// "R2 R3 P0"
std::string describe(const std::vector<Register>& registers);
/// Everything that is known about a binary, as text for people and golden files.
std::string describe(const GpuBinary& binary, InstructionSource& source);

/// In which ways tests that damage each byte of a file flip bits of the one `at`: in all, or with
/// sanitizers, where each takes ten times as long, in the next one.
std::vector<uint8_t> flips_of(size_t at);

/// A folder for a test's files, removed at the end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fathom
