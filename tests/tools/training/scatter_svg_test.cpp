#include "tools/training/scatter_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;

// Centres of the dots of all panels.
std::vector<std::pair<double, double>> dots(const std::string& svg) {
  std::vector<std::pair<double, double>> found;
  const std::string start = "class=\"points\" d=\"";
  for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at + 1)) {
    std::size_t from = at + start.size();
    double x = 0.0;
    double y = 0.0;
    int read = 0;
    while (std::sscanf(svg.c_str() + from, "M%lf %lfh0%n", &x, &y, &read) == 2) {
      found.emplace_back(x, y);
      from += static_cast<std::size_t>(read);
    }
  }
  return found;
}

TEST(ScatterSvg, RightPredictionsLieOnTheDiagonal) {
  const std::vector<ScatterPanel> panels{{"right", "", {1, 5, 9}, {1, 5, 9}}};
  for (const auto& [x, y] : dots(scatter_svg(panels, 1))) EXPECT_NEAR(x + y, 300.0, 0.2);
}

TEST(ScatterSvg, PutsHighPredictionsAboveIt) {
  const std::vector<ScatterPanel> panels{{"", "", {2, 4}, {3, 4}}};
  const auto found = dots(scatter_svg(panels, 1));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_LT(found[0].first + found[0].second, 290.0);  // y grows downwards.
  EXPECT_LT(found[0].first, found[1].first);
}

TEST(ScatterSvg, DrawsASelectionOfManyPoints) {
  const std::vector<float> costs(100'000, 1.0F);
  const std::string svg = scatter_svg(std::vector<ScatterPanel>{{"", "", costs, costs}}, 1);
  EXPECT_GT(dots(svg).size(), 2000U);
  EXPECT_LE(dots(svg).size(), 3000U);
}

TEST(ScatterSvg, HoldsEveryPanelAndEscapesItsTitle) {
  const std::vector<ScatterPanel> panels{
      {"a < b", "one", {1}, {2}}, {"R&D", "two", {3}, {3}}, {"", "three", {}, {}}};
  const std::string svg = scatter_svg(panels, 2);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("R&amp;D"));
  EXPECT_THAT(svg, HasSubstr(">three<"));
  EXPECT_EQ(dots(svg).size(), 2U);
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("nan")));
}

TEST(ScatterSvg, TicksAreRoundAndFewButEnough) {
  for (double range = 1e-3; range < 1e5; range *= 1.07) {
    const double step = tick_step(range);
    EXPECT_GE(range / step, 4.0) << range;
    EXPECT_LE(range / step, 10.001) << range;
  }
  EXPECT_DOUBLE_EQ(tick_step(10), 2);
  EXPECT_DOUBLE_EQ(tick_step(40), 10);
  EXPECT_DOUBLE_EQ(tick_step(0.21), 0.05);
}

}  // namespace
}  // namespace neuroshard::tools
