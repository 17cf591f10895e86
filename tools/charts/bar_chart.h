#pragma once

#include <string>
#include <vector>

namespace neuroshard::charts {

struct Bars {
  std::string name;
  std::vector<double> values;  ///< One a group; NaN: no bar.
};

/// Groups of bars side by side, from 0 up.
struct BarChart {
  std::string title;
  std::string y_label;
  std::vector<std::string> groups;
  std::vector<Bars> bars;
};

/// An SVG file.
[[nodiscard]] std::string draw(const BarChart& chart);

}  // namespace neuroshard::charts
