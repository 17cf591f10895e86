#include "tools/training/scatter_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/charts/svg.h"

namespace neuroshard::tools {
namespace {

constexpr int kPlot = 300;  // Pixels of an axis.
constexpr int kLeft = 64;
constexpr int kTop = 48;
constexpr int kPanelWidth = kLeft + kPlot + 24;
constexpr int kPanelHeight = kTop + kPlot + 56;
constexpr std::size_t kMostPoints = 3000;

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// Both axes run over all measured and all predicted costs.
struct Axis {
  double low = 0.0;
  double high = 1.0;

  explicit Axis(const ScatterPanel& panel) {
    if (panel.measured_ms.empty()) return;
    const auto [low_measured, high_measured] =
        std::minmax_element(panel.measured_ms.begin(), panel.measured_ms.end());
    const auto [low_predicted, high_predicted] =
        std::minmax_element(panel.predicted_ms.begin(), panel.predicted_ms.end());
    low = std::min(*low_measured, *low_predicted);
    high = std::max(*high_measured, *high_predicted);
    const double margin = std::max(0.02 * (high - low), 1e-6);
    low -= margin;
    high += margin;
  }

  [[nodiscard]] double pixels(double cost_ms) const {
    return (cost_ms - low) / (high - low) * kPlot;
  }
};

std::string axes(const Axis& axis) {
  std::string svg = format("<rect class=\"frame\" width=\"%d\" height=\"%d\"/>\n", kPlot, kPlot);
  const double step = tick_step(axis.high - axis.low);
  for (double tick = std::ceil(axis.low / step) * step; tick <= axis.high; tick += step) {
    const double at = axis.pixels(tick);
    const double value = std::abs(tick) < 0.5 * step ? 0.0 : tick;
    svg +=
        format("<path class=\"grid\" d=\"M%.1f 0V%dM0 %.1fH%d\"/>\n", at, kPlot, kPlot - at, kPlot);
    svg += format("<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n",
                  at, kPlot + 15, value);
    svg += format("<text class=\"tick\" x=\"-6\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
                  kPlot - at + 4, value);
  }
  svg += format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">measured, ms</text>\n", kPlot / 2,
                kPlot + 34);
  svg += format(
      "<text x=\"%d\" y=\"-44\" text-anchor=\"middle\" transform=\"rotate(-90)\">"
      "predicted, ms</text>\n",
      -kPlot / 2);
  return svg;
}

// One path for all points: a line of no length with a round end is a dot.
std::string points(const ScatterPanel& panel, const Axis& axis) {
  const std::size_t stride = (panel.measured_ms.size() + kMostPoints - 1) / kMostPoints;
  std::string svg = "<path class=\"points\" d=\"";
  for (std::size_t i = 0; i < panel.measured_ms.size(); i += stride) {
    svg += format("M%.1f %.1fh0", axis.pixels(panel.measured_ms[i]),
                  kPlot - axis.pixels(panel.predicted_ms[i]));
  }
  return svg + "\"/>\n";
}

std::string panel_svg(const ScatterPanel& panel, int x, int y) {
  const Axis axis(panel);
  std::string svg = format("<g transform=\"translate(%d %d)\">\n", x + kLeft, y + kTop);
  svg += "<text class=\"title\" y=\"-26\">" + charts::xml_escaped(panel.title) + "</text>\n";
  svg += "<text class=\"tick\" y=\"-10\">" + charts::xml_escaped(panel.caption) + "</text>\n";
  svg += axes(axis);
  svg += format("<path class=\"right\" d=\"M0 %dL%d 0\"/>\n", kPlot, kPlot);
  return svg + points(panel, axis) + "</g>\n";
}

constexpr const char* kStyle =
    "<style>text{font:12px sans-serif;fill:#222}.title{font-size:14px;font-weight:bold}"
    ".tick{font-size:11px;fill:#555}.frame{fill:none;stroke:#888}.grid{stroke:#e4e4e4}"
    ".right{stroke:#c33;fill:none}.points{stroke:#2060b0;stroke-opacity:.4;stroke-width:3;"
    "stroke-linecap:round;fill:none}</style>\n";

}  // namespace

double tick_step(double range) {
  const double power = std::pow(10.0, std::floor(std::log10(range / 4.0)));
  for (const double multiple : {5.0, 2.0}) {
    if (range / (multiple * power) >= 4.0) return multiple * power;
  }
  return power;
}

std::string scatter_svg(std::span<const ScatterPanel> panels, int columns) {
  const int count = static_cast<int>(panels.size());
  columns = std::clamp(columns, 1, std::max(count, 1));
  const int rows = (count + columns - 1) / columns;
  std::string svg = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      columns * kPanelWidth, rows * kPanelHeight);
  svg += kStyle;
  for (int i = 0; i < count; ++i) {
    svg += panel_svg(panels[static_cast<std::size_t>(i)], i % columns * kPanelWidth,
                     i / columns * kPanelHeight);
  }
  return svg + "</svg>\n";
}

}  // namespace neuroshard::tools
