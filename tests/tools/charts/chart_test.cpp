#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/charts/bar_chart.h"
#include "tools/charts/line_chart.h"
#include "tools/charts/svg.h"

namespace neuroshard::charts {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

int occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Svg, EscapesWhatXmlReserves) {
  EXPECT_EQ(xml_escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;");
  EXPECT_EQ(xml_escaped("line\nend\x01"), "line end ");
  EXPECT_EQ(xml_escaped("\xc3\xa9"), "\xc3\xa9");
}

TEST(Svg, LinearTicksAreRoundAndInside) {
  EXPECT_THAT(linear_ticks(0.0, 1.0, 5), ElementsAre(DoubleEq(0.0), DoubleEq(0.2), DoubleEq(0.4),
                                                     DoubleEq(0.6), DoubleEq(0.8), DoubleEq(1.0)));
  EXPECT_THAT(linear_ticks(0.0, 3.1, 6), ElementsAre(0.0, 1.0, 2.0, 3.0));
  EXPECT_FALSE(std::signbit(linear_ticks(0.0, 3.1, 6).front()));
  EXPECT_THAT(linear_ticks(130.0, 410.0, 3), ElementsAre(200.0, 300.0, 400.0));
}

TEST(Svg, LogTicksAreDecadesOrFinerOverAShortRange) {
  EXPECT_THAT(log_ticks(0.5, 2000.0),
              ElementsAre(DoubleEq(1.0), DoubleEq(10.0), DoubleEq(100.0), DoubleEq(1000.0)));
  EXPECT_THAT(log_ticks(3.0, 60.0),
              ElementsAre(DoubleEq(5.0), DoubleEq(10.0), DoubleEq(20.0), DoubleEq(50.0)));
}

TEST(Svg, TickLabelsAreShort) {
  EXPECT_EQ(tick_label(0.01), "0.01");
  EXPECT_EQ(tick_label(2000.0), "2000");
  EXPECT_EQ(tick_label(10000.0), "10k");
  EXPECT_EQ(tick_label(1e6), "1M");
  EXPECT_EQ(tick_label(2.5e9), "2.5G");
}

TEST(LineChart, DrawsEveryFinitePointAndEscapesNames) {
  LineChart chart{.title = "a < b", .x_label = "x", .y_label = "y", .series = {}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  chart.series.push_back({"one & two", {{1.0, 2.0}, {10.0, nan}, {100.0, 0.0}, {1000.0, 5.0}}});
  const std::string svg = draw(std::vector{chart, chart});
  EXPECT_EQ(occurrences(svg, "<circle"), 4);
  EXPECT_EQ(occurrences(svg, "<polyline"), 2);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("one &amp; two"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(LineChart, SurvivesNoPointsAndASinglePoint) {
  LineChart chart;
  EXPECT_THAT(draw(std::vector{chart}), HasSubstr("</svg>"));
  chart.series.push_back({"s", {{4.0, 4.0}}});
  const std::string svg = draw(std::vector{chart});
  EXPECT_EQ(occurrences(svg, "<circle"), 1);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(BarChart, DrawsABarForEveryFiniteValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const BarChart chart{.title = "t",
                       .y_label = "y",
                       .groups = {"g1", "g2"},
                       .bars = {{"first", {1.0, 2.0}}, {"second", {nan, 3.0}}}};
  const std::string svg = draw(chart);
  // Background, three bars, two keys of the legend.
  EXPECT_EQ(occurrences(svg, "<rect"), 1 + 3 + 2);
  EXPECT_THAT(svg, HasSubstr("second"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace neuroshard::charts
