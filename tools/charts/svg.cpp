#include "tools/charts/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace neuroshard::charts {
namespace {

constexpr const char* kFont = "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\"";

std::string number(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string attribute(std::string_view name, std::string_view value) {
  std::string text(1, ' ');
  return text.append(name).append("=\"").append(value).append("\"");
}

std::string attribute(std::string_view name, double value) {
  return attribute(name, std::string_view(number(value)));
}

}  // namespace

std::string escaped(std::string_view text,
                    std::initializer_list<std::pair<char, std::string_view>> escapes) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto* const found =
        std::ranges::find(escapes, c, &std::pair<char, std::string_view>::first);
    result += found == escapes.end() ? std::string_view(&c, 1) : found->second;
  }
  return result;
}

std::string xml_escaped(std::string_view text) {
  std::string plain(text);
  std::ranges::replace_if(
      plain, [](unsigned char c) { return c < 0x20; }, ' ');
  return escaped(plain,
                 {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}});
}

void SvgCanvas::line(double x1, double y1, double x2, double y2, std::string_view color,
                     double thickness) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + attribute("stroke", color) + attribute("stroke-width", thickness) +
           "/>\n";
}

void SvgCanvas::polyline(const std::vector<std::pair<double, double>>& points,
                         std::string_view color) {
  body_ += "<polyline fill=\"none\"" + attribute("stroke", color) + attribute("stroke-width", 2.0) +
           " points=\"";
  for (const auto& [x, y] : points) body_ += number(x) + "," + number(y) + " ";
  body_ += "\"/>\n";
}

void SvgCanvas::circle(double x, double y, double radius, std::string_view color) {
  body_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
           attribute("fill", color) + "/>\n";
}

void SvgCanvas::rectangle(double x, double y, double width, double height, std::string_view color) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + attribute("fill", color) + "/>\n";
}

void SvgCanvas::text(double x, double y, std::string_view text, TextAnchor anchor, bool bold) {
  constexpr std::array kAnchors = {"start", "middle", "end"};
  body_ += "<text" + attribute("x", x) + attribute("y", y) +
           attribute("text-anchor", kAnchors[static_cast<std::size_t>(anchor)]) +
           (bold ? attribute("font-weight", "bold") : "") + ">" + xml_escaped(text) + "</text>\n";
}

void SvgCanvas::vertical_text(double x, double y, std::string_view text) {
  body_ += "<text text-anchor=\"middle\" transform=\"translate(" + number(x) + " " + number(y) +
           ") rotate(-90)\">" + xml_escaped(text) + "</text>\n";
}

std::string SvgCanvas::str() const {
  const std::string size = number(width_) + " " + number(height_);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\"" +
         attribute("width", width_) + attribute("height", height_) + " " + kFont + ">\n" +
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + body_ + "</svg>\n";
}

std::string_view series_color(std::size_t index) {
  constexpr std::array<std::string_view, 10> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                        "#e69f00", "#56b4e9", "#000000", "#f0e442",
                                                        "#999999", "#661100"};
  return kColors[index % kColors.size()];
}

std::vector<double> linear_ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * decade;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= rough * (1.0 - 1e-9)) {
      step = factor * decade;
      break;
    }
  }
  std::vector<double> ticks;
  const double tolerance = 1e-9 * step;
  for (double i = std::ceil((low - tolerance) / step); i * step <= high + tolerance; ++i) {
    ticks.push_back(i * step + 0.0);  // Never -0.
  }
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  const bool few = high / low < 100.0;
  std::vector<double> ticks;
  for (double decade = std::pow(10.0, std::floor(std::log10(low))); decade <= high * 1.000001;
       decade *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1.0 && !few) continue;
      const double tick = factor * decade;
      if (tick >= low * 0.999999 && tick <= high * 1.000001) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string tick_label(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  const char* unit = "";
  // 2000, but 20k: four digits need no unit.
  for (const auto& [size, name] : kUnits) {
    if (std::abs(value) < (size == 1e3 ? 1e4 : size)) continue;
    value /= size;
    unit = name;
    break;
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.6g%s", value, unit);
  return text.data();
}

}  // namespace neuroshard::charts
