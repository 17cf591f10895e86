#include "tools/charts/bar_chart.h"

#include <algorithm>
#include <cmath>

#include "tools/charts/svg.h"

namespace neuroshard::charts {
namespace {

constexpr double kBarWidth = 9.0;
constexpr double kGroupGap = 18.0;
constexpr double kHeight = 380.0;
constexpr double kLeft = 60.0;
constexpr double kTop = 40.0;
constexpr double kBottom = 50.0;
constexpr double kLegend = 230.0;

}  // namespace

std::string draw(const BarChart& chart) {
  const double group_width = kBarWidth * static_cast<double>(chart.bars.size()) + kGroupGap;
  const double plot_width = std::max(200.0, group_width * static_cast<double>(chart.groups.size()));
  const double right = kLeft + plot_width;
  const double base = kHeight - kBottom;
  double high = 0.0;
  for (const Bars& bars : chart.bars) {
    for (const double value : bars.values) {
      if (std::isfinite(value)) high = std::max(high, value);
    }
  }
  if (high <= 0.0) high = 1.0;
  const auto y_of = [&](double value) { return base - (base - kTop) * value / (1.05 * high); };

  SvgCanvas canvas(right + kLegend, kHeight);
  for (const double tick : linear_ticks(0.0, 1.05 * high, 6)) {
    canvas.line(kLeft, y_of(tick), right, y_of(tick), "#dddddd");
    canvas.text(kLeft - 6.0, y_of(tick) + 4.0, tick_label(tick), TextAnchor::kEnd);
  }
  canvas.text((kLeft + right) / 2.0, 20.0, chart.title, TextAnchor::kMiddle, /*bold=*/true);
  canvas.vertical_text(18.0, (base + kTop) / 2.0, chart.y_label);
  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    const Bars& bars = chart.bars[b];
    for (std::size_t g = 0; g < bars.values.size(); ++g) {
      if (!std::isfinite(bars.values[g])) continue;
      const double x = kLeft + group_width * static_cast<double>(g) + kGroupGap / 2.0 +
                       kBarWidth * static_cast<double>(b);
      const double top = y_of(bars.values[g]);
      canvas.rectangle(x, top, kBarWidth - 1.0, base - top, series_color(b));
    }
    const double legend_y = kTop + 14.0 + 16.0 * static_cast<double>(b);
    canvas.rectangle(right + 12.0, legend_y - 9.0, 10.0, 10.0, series_color(b));
    canvas.text(right + 28.0, legend_y, bars.name, TextAnchor::kStart);
  }
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    // Every other name a line lower: neighbours do not run into each other.
    canvas.text(kLeft + group_width * (static_cast<double>(g) + 0.5),
                base + 16.0 + (g % 2 == 0 ? 0.0 : 15.0), chart.groups[g], TextAnchor::kMiddle);
  }
  canvas.line(kLeft, base, right, base, "#333333");
  return canvas.str();
}

}  // namespace neuroshard::charts
