// The native decoder and nvdisasm's text, which the recording carries, lead to the same advice.

#include <gtest/gtest.h>

#include "fixture.h"
#include "views/advice.h"

namespace fathom {
namespace {

using fathom::testing::analyze_fixture;
using fathom::testing::fixture;

const Attribution& by_nvdisasm() {
  static const Attribution attribution = analyze_fixture(DecoderKind::nvdisasm);
  return attribution;
}

TEST(Decoders, GiveTheSameAdvice) {
  EXPECT_GT(fixture().profile.findings.size(), 10u);
  EXPECT_EQ(advice_text(fixture().profile, {}).value(),
            advice_text(by_nvdisasm().profile, {}).value());
}

TEST(Decoders, GiveTheSameBlame) {
  ASSERT_EQ(fixture().functions.size(), by_nvdisasm().functions.size());
  for (size_t f = 0; f < fixture().functions.size(); ++f) {
    const AnalyzedFunction& native = fixture().functions[f];
    const AnalyzedFunction& theirs = by_nvdisasm().functions[f];
    ASSERT_EQ(native.blame.size(), theirs.blame.size()) << native.mangled;
    for (size_t b = 0; b < native.blame.size(); ++b) {
      EXPECT_EQ(native.blame[b].producer, theirs.blame[b].producer) << native.mangled;
      EXPECT_EQ(native.blame[b].stalls, theirs.blame[b].stalls) << native.mangled;
    }
    EXPECT_EQ(native.loops.loops.size(), theirs.loops.loops.size()) << native.mangled;
  }
}

/// So that the tests above compare two things and not one with itself.
TEST(Decoders, WriteLabelsDifferently) {
  size_t labels = 0;
  for (size_t f = 0; f < fixture().functions.size(); ++f)
    for (size_t i = 0; i < fixture().functions[f].instructions.size(); ++i)
      labels += fixture().functions[f].instructions[i].text !=
                by_nvdisasm().functions[f].instructions[i].text;
  EXPECT_GT(labels, 0u);
}

}  // namespace
}  // namespace fathom
