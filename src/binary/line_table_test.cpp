#include "binary/line_table.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

/// All rows of a function as text, one for each change.
std::string rows_of(const GpuBinary& binary, const GpuSymbol& function) {
  std::string text;
  for (const LineRow& row : binary.lines.rows.at(function.section))
    text += row.end ? "end\n" : describe_row(binary.lines, row) + "\n";
  return text;
}

TEST(LineTable, InlinedCallsFormChains) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  std::string rows = rows_of(binary, *binary.find("nested"));
  EXPECT_NE(rows.find("inlining_inner.h:4 < inlining_inner.h:8 _Z9innermostf < "
                      "inlining_outer.h:5 _Z5innerf < inlining.cu:20 _Z5outerf\n"),
            std::string::npos)
      << rows;
  EXPECT_NE(rows.find("\ninlining_outer.h:6 < inlining.cu:20 _Z5outerf\n"), std::string::npos)
      << rows;
}

TEST(LineTable, PathsAreFull) {
  GpuBinary binary = open_fixture("tiny.sm_90.cubin");
  ASSERT_EQ(binary.lines.files.size(), 2u);
  EXPECT_EQ(binary.lines.files[0], "/tmp/fathom_fixture/tiny.cu");
  EXPECT_EQ(binary.lines.files[1], "/tmp/fathom_fixture/inlining_inner.h");
}

TEST(LineTable, RowsAreSortedAndTheirReferencesExist) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  const LineTables& lines = binary.lines;
  EXPECT_EQ(lines.rows.size(), 4u);
  for (const auto& [section, rows] : lines.rows) {
    EXPECT_TRUE(rows.back().end);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(i == 0 || rows[i - 1].offset < rows[i].offset);
      EXPECT_LT(rows[i].file, lines.files.size());
      EXPECT_LT(rows[i].context, int(lines.inlines.size()));
    }
  }
  for (size_t i = 0; i < lines.inlines.size(); ++i)
    EXPECT_LT(lines.inlines[i].parent, int(i)) << "calls come after those that they are in";
}

TEST(LineTable, FindsTheRowThatCoversAnOffset) {
  LineTables lines;
  lines.files = {"a"};
  lines.rows[3] = {{0x10, 0, 5, -1, false}, {0x40, 0, 7, -1, false}, {0x60, 0, 0, -1, true}};
  EXPECT_EQ(lines.find(3, 0x0), nullptr);
  EXPECT_EQ(lines.find(3, 0x10)->line, 5u);
  EXPECT_EQ(lines.find(3, 0x3f)->line, 5u);
  EXPECT_EQ(lines.find(3, 0x40)->line, 7u);
  EXPECT_EQ(lines.find(3, 0x60), nullptr);
  EXPECT_EQ(lines.find(4, 0x10), nullptr);
}

}  // namespace
}  // namespace fathom
