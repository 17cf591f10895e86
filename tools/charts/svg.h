#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neuroshard::charts {

/// `text` with each of these characters written as the text beside it.
[[nodiscard]] std::string escaped(std::string_view text,
                                  std::initializer_list<std::pair<char, std::string_view>> escapes);

/// `text` with &, <, >, " and ' written as XML wants them; control characters, which XML has no way
/// to write, become spaces.
[[nodiscard]] std::string xml_escaped(std::string_view text);

enum class TextAnchor { kStart, kMiddle, kEnd };

/// A picture in SVG, drawn piece by piece. Lengths are pixels, y points down.
class SvgCanvas {
 public:
  SvgCanvas(double width, double height) : width_(width), height_(height) {}

  void line(double x1, double y1, double x2, double y2, std::string_view color,
            double thickness = 1.0);
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view color);
  void circle(double x, double y, double radius, std::string_view color);
  void rectangle(double x, double y, double width, double height, std::string_view color);
  void text(double x, double y, std::string_view text, TextAnchor anchor, bool bold = false);
  /// Reads from bottom to top, centred on the point.
  void vertical_text(double x, double y, std::string_view text);

  [[nodiscard]] std::string str() const;

 private:
  double width_;
  double height_;
  std::string body_;
};

/// Colours that people with colour blindness can tell apart (Okabe and Ito, and two more); repeats
/// after ten.
[[nodiscard]] std::string_view series_color(std::size_t index);

/// Round numbers from `low` to `high` or just inside, about `count` of them. low < high.
[[nodiscard]] std::vector<double> linear_ticks(double low, double high, int count);
/// 1, 10, 100, ...: those within [low, high]; of less than two decades also 2, 5, 20, 50, ...
[[nodiscard]] std::vector<double> log_ticks(double low, double high);
/// "0.01", "1", "200", "10k", "2M", "5G".
[[nodiscard]] std::string tick_label(double value);

}  // namespace neuroshard::charts
