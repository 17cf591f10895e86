#include "tools/text/text.h"

#include <gtest/gtest.h>

#include "tools/console/progress_bar.h"

namespace neuroshard::tools {
namespace {

constexpr TextStyle kAscii{};
constexpr TextStyle kUnicode{.unicode = true};
constexpr TextStyle kColor{.unicode = true, .color = true};

TEST(Text, WidthCountsCharactersNotBytesOrColours) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("█▓░"), 3);
  EXPECT_EQ(display_width("\033[34m█\033[0m"), 1);
  EXPECT_EQ(display_width("\033["), 0);
  EXPECT_EQ(pad_left("█", 3), "  █");
  EXPECT_EQ(pad_right("█", 3), "█  ");
  EXPECT_EQ(cut("a█bc", 2), "a█");
  EXPECT_EQ(cut("ab", 5), "ab");
}

TEST(Text, ParagraphsBreakBetweenWords) {
  TextStyle narrow;
  narrow.columns = 12;
  EXPECT_EQ(paragraph("note", "one two three", 6, narrow), "note  one\n      two\n      three\n");
  EXPECT_EQ(paragraph("note", "a b c d e", 6, narrow), "note  a b c\n      d e\n");
  EXPECT_EQ(paragraph("note", "a-very-long-word x", 6, narrow),
            "note  a-very-long-word\n      x\n");
  EXPECT_EQ(paragraph("note", "", 6, narrow), "note  \n");
}

TEST(Text, BarGrowsWithItsShare) {
  EXPECT_EQ(bar(0.0, 4, kAscii), "");
  EXPECT_EQ(bar(0.5, 4, kAscii), "##");
  EXPECT_EQ(bar(2.0, 4, kAscii), "####");
  EXPECT_EQ(bar(0.5, 1, kUnicode), "▌");
  EXPECT_EQ(bar(1.0, 2, kUnicode), "██");
}

TEST(Text, StackedBarIsAsLongAsItsSum) {
  EXPECT_EQ(stacked_bar({0.5, 0.25, 0.25}, 0.0, 8, kAscii), "####==--");
  // Three parts of 0.4 cells each: together 1.2 cells, not 0.
  EXPECT_EQ(display_width(stacked_bar({0.04, 0.04, 0.04}, 0.0, 10, kAscii)), 1);
  EXPECT_EQ(display_width(stacked_bar({0.3, 0.3, 0.4}, 0.0, 30, kColor)), 30);
  EXPECT_EQ(stacked_bar({0.0, 0.0, 0.0}, 0.0, 8, kColor), "");
  EXPECT_EQ(stacked_bar({0.5, 0.2}, 0.3, 10, kAscii), "#####==...");
  EXPECT_EQ(stacked_bar({0.5}, 0.9, 4, kAscii), "##..");
  const std::vector<double> as_many_as_costs(8, 0.125);
  EXPECT_EQ(stacked_bar(as_many_as_costs, 0.0, 8, kAscii), "#=-+:*%o");
}

TEST(Text, NumbersHaveUnitsPeopleRead) {
  EXPECT_EQ(format_ms(0.01234), "0.0123");
  EXPECT_EQ(format_ms(12.345), "12.35");
  EXPECT_EQ(format_ms(1234.5), "1234");
}

TEST(Text, FormatsShortNumbers) {
  EXPECT_EQ(format_short(0.01234), "0.0123");
  EXPECT_EQ(format_short(0.00001234), "1.23e-05");
  EXPECT_EQ(format_short(3.0), "3");
}

TEST(Text, TableAlignsItsColumns) {
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kRight});
  table.add_row({"a", "1"});
  table.add_row({"█▓", "100"});
  EXPECT_EQ(table.str(), "a     1\n█▓  100\n");
}

TEST(ProgressBar, LineSaysHowFarAndHowLong) {
  EXPECT_EQ(progress_line("planning", 1, 4, 30.0, "", kAscii),
            "planning [######                  ] 1/4  1m30s left");
  EXPECT_EQ(progress_line("planning", 0, 4, 0.0, "", kAscii),
            "planning [                        ] 0/4");
  EXPECT_EQ(progress_line("training", 4, 4, 1.0, "loss 0.5", kAscii),
            "training [########################] 4/4  loss 0.5");
  TextStyle narrow = kUnicode;
  narrow.columns = 20;
  EXPECT_EQ(display_width(progress_line("planning", 3, 4, 1.0, "", narrow)), 19);
}

TEST(ProgressBar, DrawsOnlyOnATerminal) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  {
    ProgressBar progress(console, "planning", 10);
    progress.update(3);
  }
  EXPECT_EQ(err.str(), "");
  console.err_is_terminal = true;
  {
    ProgressBar progress(console, "planning", 10);
    progress.update(3);
    EXPECT_NE(err.str().find("3/10"), std::string::npos);
  }
  EXPECT_TRUE(err.str().ends_with("\r\033[K"));
}

}  // namespace
}  // namespace neuroshard::tools
