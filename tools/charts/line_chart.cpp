#include "tools/charts/line_chart.h"

#include <algorithm>
#include <cmath>

#include "tools/charts/svg.h"

namespace neuroshard::charts {
namespace {

constexpr double kPanelWidth = 580.0;
constexpr double kChartHeight = 360.0;
constexpr double kChartLeft = 70.0;  // Left of the plot in its panel; so the others.
constexpr double kRight = 150.0;     // The legend.
constexpr double kChartTop = 40.0;
constexpr double kChartBottom = 50.0;

/// From values to pixels, on a logarithmic scale.
struct Axis {
  double low;
  double high;
  double first_pixel;
  double last_pixel;

  [[nodiscard]] double pixel(double value) const {
    return first_pixel + (last_pixel - first_pixel) * std::log(value / low) / std::log(high / low);
  }
};

bool drawable(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second) && point.first > 0.0 &&
         point.second > 0.0;
}

Axis axis_over(const LineChart& chart, bool vertical, double first_pixel, double last_pixel) {
  double low = 0.0;
  double high = 0.0;
  for (const Series& series : chart.series) {
    for (const auto& point : series.points) {
      if (!drawable(point)) continue;
      const double value = vertical ? point.second : point.first;
      low = low == 0.0 ? value : std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low == 0.0) low = high = 1.0;
  // Room around the lines; never an empty range.
  return {low / 1.3, high * 1.3, first_pixel, last_pixel};
}

void draw_axes(SvgCanvas& canvas, const LineChart& chart, const Axis& x, const Axis& y) {
  for (const double tick : log_ticks(x.low, x.high)) {
    const double at = x.pixel(tick);
    canvas.line(at, y.first_pixel, at, y.last_pixel, "#dddddd");
    canvas.text(at, y.first_pixel + 16.0, tick_label(tick), TextAnchor::kMiddle);
  }
  for (const double tick : log_ticks(y.low, y.high)) {
    const double at = y.pixel(tick);
    canvas.line(x.first_pixel, at, x.last_pixel, at, "#dddddd");
    canvas.text(x.first_pixel - 6.0, at + 4.0, tick_label(tick), TextAnchor::kEnd);
  }
  canvas.line(x.first_pixel, y.first_pixel, x.last_pixel, y.first_pixel, "#333333");
  canvas.line(x.first_pixel, y.first_pixel, x.first_pixel, y.last_pixel, "#333333");
  const double middle = (x.first_pixel + x.last_pixel) / 2.0;
  canvas.text(middle, 20.0, chart.title, TextAnchor::kMiddle, /*bold=*/true);
  canvas.text(middle, kChartHeight - 12.0, chart.x_label, TextAnchor::kMiddle);
  canvas.vertical_text(x.first_pixel - kChartLeft + 16.0, (y.first_pixel + y.last_pixel) / 2.0,
                       chart.y_label);
}

void draw_chart(SvgCanvas& canvas, const LineChart& chart, double left) {
  const Axis x = axis_over(chart, false, left + kChartLeft, left + kPanelWidth - kRight);
  const Axis y = axis_over(chart, true, kChartHeight - kChartBottom, kChartTop);
  draw_axes(canvas, chart, x, y);
  double legend_y = kChartTop + 14.0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::vector<std::pair<double, double>> pixels;
    for (const auto& point : chart.series[i].points) {
      if (!drawable(point)) continue;
      pixels.emplace_back(x.pixel(point.first), y.pixel(point.second));
      canvas.circle(pixels.back().first, pixels.back().second, 3.0, series_color(i));
    }
    canvas.polyline(pixels, series_color(i));
    canvas.line(x.last_pixel + 8.0, legend_y - 4.0, x.last_pixel + 22.0, legend_y - 4.0,
                series_color(i), 3.0);
    canvas.text(x.last_pixel + 27.0, legend_y, chart.series[i].name, TextAnchor::kStart);
    legend_y += 16.0;
  }
}

}  // namespace

std::string draw(std::span<const LineChart> charts) {
  SvgCanvas canvas(kPanelWidth * static_cast<double>(std::max<std::size_t>(1, charts.size())),
                   kChartHeight);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    draw_chart(canvas, charts[i], kPanelWidth * static_cast<double>(i));
  }
  return canvas.str();
}

}  // namespace neuroshard::charts
