#include "views/layout.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Layout, CountsCharactersAndNotBytesOrColours) {
  EXPECT_EQ(columns("héllo…"), 6u);
  EXPECT_EQ(columns(paint({true, 80}, Paint::bad, "four")), 4u);
  EXPECT_EQ(pad_left("é", 3), "  é");
  EXPECT_EQ(pad_right("é", 3), "é  ");
  EXPECT_EQ(pad_right("long", 2), "long");
}

TEST(Layout, PaintsOnlyWhereColourIsWanted) {
  EXPECT_EQ(paint({false, 80}, Paint::bad, "x"), "x");
  EXPECT_NE(paint({true, 80}, Paint::bad, "x"), "x");
}

TEST(Layout, ShortensInTheMiddleOrAtTheEnd) {
  EXPECT_EQ(shorten_middle("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(shorten_middle("abc", 7), "abc");
  EXPECT_EQ(shorten_end("äöüäöü", 4), "äöü…");
}

TEST(Layout, WrapsAtSpacesAndKeepsLongWords) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("incomprehensibilities go", 5),
            (std::vector<std::string>{"incomprehensibilities", "go"}));
  EXPECT_EQ(wrap("", 5), std::vector<std::string>{""});
  EXPECT_EQ(paragraph("- ", "some words that go on and on", 2, 22),
            "- some words that go\n  on and on\n");
}

TEST(Layout, BarsAreAsLongAsTheirFraction) {
  EXPECT_EQ(bar(1, 3), "███");
  EXPECT_EQ(bar(0.5, 3), "█▌");
  EXPECT_EQ(bar(0.0001, 3), "▏");  // something is not nothing
  EXPECT_EQ(bar(0, 3), "");
  EXPECT_EQ(bar(7, 2), "██");
  EXPECT_EQ(bar(0.0 / 0.0, 2), "");
}

TEST(Layout, NothingFromOutsideControlsTheTerminal) {
  EXPECT_EQ(printable("a\033[2Jb\tc\n\x07"), "a?[2Jb  c ?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");  // the one-byte form of escape and bracket
  EXPECT_EQ(printable("grün"), "grün");
}

TEST(Layout, CountsInWords) {
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(1200, "launch", "launches"), "1,200 launches");
}

TEST(Layout, RemovesSpacesAtLineEnds) {
  EXPECT_EQ(without_trailing_spaces("a  \n   \nb\n"), "a\n\nb\n");
}

}  // namespace
}  // namespace fathom
