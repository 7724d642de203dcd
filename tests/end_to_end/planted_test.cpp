// The advisor against bottlenecks that were planted on purpose (samples/cuda), as recorded on an
// H200.

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/text.h"
#include "fixture.h"

namespace fathom {
namespace {

using fathom::testing::fixture;
using fathom::testing::Pair;

/// Kinds that the samples hold a pair for. The others are in benchmarks/advice.
const std::set<std::string> kKinds = {"strength-reduction",
                                      "loop-unrolling",
                                      "code-reordering",
                                      "warp-balance",
                                      "memory-transaction-reduction",
                                      "block-increase",
                                      "thread-increase",
                                      "register-reuse",
                                      "function-inlining",
                                      "fast-math"};

std::vector<Pair> supported_pairs() {
  std::vector<Pair> result;
  for (const Pair& pair : fathom::testing::pairs())
    if (kKinds.count(pair.kind)) result.push_back(pair);
  return result;
}

std::set<uint32_t> planted_lines(const Pair& pair) {
  std::string text =
      read_text_file(fathom::testing::source_path("samples/cuda/" + pair.program + ".cu")).value();
  std::set<uint32_t> lines;
  uint32_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.find("PLANTED: " + pair.kind) != std::string_view::npos) lines.insert(number);
  }
  return lines;
}

std::vector<const Finding*> findings_of(const std::string& kernel) {
  std::vector<const Finding*> result;
  for (const Finding& finding : fixture().profile.findings)
    if (short_name(finding.subject) == kernel) result.push_back(&finding);
  return result;
}

class Planted : public ::testing::TestWithParam<Pair> {};

TEST_P(Planted, FirstFindingIsOfTheRightKindAndNamesTheLine) {
  const Pair& pair = GetParam();
  std::set<uint32_t> planted = planted_lines(pair);
  ASSERT_FALSE(planted.empty());
  std::vector<const Finding*> findings = findings_of(pair.kernel);
  ASSERT_FALSE(findings.empty()) << pair.kernel;
  const Finding& first = *findings.front();
  EXPECT_EQ(first.kind, pair.kind);
  EXPECT_TRUE(ends_with(first.location.file, "/" + pair.program + ".cu")) << first.location.file;
  EXPECT_TRUE(planted.count(first.location.line)) << "line " << first.location.line;
  ASSERT_TRUE(first.speedup);
  EXPECT_GT(first.speedup->mid, 1.2);
  EXPECT_LE(first.speedup->low, first.speedup->mid);
  EXPECT_GE(first.speedup->high, first.speedup->mid);
}

TEST_P(Planted, TheFixedTwinIsNotToldTheSame) {
  const Pair& pair = GetParam();
  bool measured = false;
  for (const KernelSummary& kernel : fixture().profile.kernels)
    measured =
        measured || (short_name(kernel.name) == pair.fixed_kernel && kernel.samples.total() > 0);
  ASSERT_TRUE(measured) << pair.fixed_kernel;
  for (const Finding* finding : findings_of(pair.fixed_kernel))
    if (finding->kind == pair.kind && finding->speedup) {
      EXPECT_LT(finding->speedup->mid, 1.03);
    }
}

INSTANTIATE_TEST_SUITE_P(H200, Planted, ::testing::ValuesIn(supported_pairs()),
                         [](const auto& instance) { return instance.param.program; });

TEST(PlantedPairs, EveryOptimizerHasOne) {
  std::set<std::string> kinds;
  for (const Pair& pair : supported_pairs()) kinds.insert(pair.kind);
  EXPECT_EQ(kinds, kKinds);
}

}  // namespace
}  // namespace fathom
