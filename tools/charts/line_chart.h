#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::charts {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x ascending; both above 0.
};

/// Lines over logarithmic axes.
struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
};

/// An SVG file with the charts side by side. Points that are not positive and finite are left out.
[[nodiscard]] std::string draw(std::span<const LineChart> charts);

}  // namespace neuroshard::charts
