#include "bench/markdown_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace neuroshard::bench {
namespace {

TEST(MarkdownTable, AlignsColumns) {
  MarkdownTable table({"name", "ms"});
  table.add_row({"a", "12.5"});
  table.add_row({"longer", "1"});
  EXPECT_EQ(table.str(),
            "| name   |   ms |\n"
            "|--------|-----:|\n"
            "| a      | 12.5 |\n"
            "| longer |    1 |\n");
}

TEST(MarkdownTable, ThreeSignificantDigits) {
  EXPECT_EQ(three_digits(0.0), "0");
  EXPECT_EQ(three_digits(0.012345), "0.0123");
  EXPECT_EQ(three_digits(0.5), "0.500");
  EXPECT_EQ(three_digits(4.5678), "4.57");
  EXPECT_EQ(three_digits(45.678), "45.7");
  EXPECT_EQ(three_digits(456.78), "457");
  EXPECT_EQ(three_digits(999.4), "999");
  EXPECT_EQ(three_digits(999.6), "1,000");
  EXPECT_EQ(three_digits(12345.0), "12,300");
  EXPECT_EQ(three_digits(1234567.0), "1,230,000");
  EXPECT_EQ(three_digits(-45.678), "-45.7");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::infinity()), "-");
}

TEST(MarkdownTable, PercentAndSeparators) {
  EXPECT_EQ(percent(0.985), "98.5 %");
  EXPECT_EQ(percent(1.0), "100.0 %");
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(-1234567), "-1,234,567");
  EXPECT_EQ(with_separators(-123), "-123");
}

}  // namespace
}  // namespace neuroshard::bench
