#include "tools/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace neuroshard::tools {
namespace {

constexpr std::array<std::string_view, 8> kUnicodeFills = {"█", "▓", "░", "▞", "▒", "▤", "▥", "▧"};
constexpr std::array<std::string_view, 8> kAsciiFills = {"#", "=", "-", "+", ":", "*", "%", "o"};
constexpr std::array<std::string_view, 8> kColors = {
    "\033[34m", "\033[36m", "\033[35m", "\033[33m", "\033[32m", "\033[31m", "\033[94m", "\033[95m"};
constexpr std::string_view kReset = "\033[0m";

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::string fill(int part, int cells, const TextStyle& style) {
  const std::size_t index = static_cast<std::size_t>(part) % kColors.size();
  std::string text = repeat(style.unicode ? kUnicodeFills[index] : kAsciiFills[index], cells);
  if (!style.color || cells == 0) return text;
  return std::string(kColors[index]) + text + std::string(kReset);
}

double clamp_share(double share) {
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if (!continues_character(text[i])) {
      ++width;
    }
  }
  return width;
}

std::string pad_left(std::string text, int width) {
  const int missing = width - display_width(text);
  if (missing > 0) text.insert(0, static_cast<std::size_t>(missing), ' ');
  return text;
}

std::string pad_right(std::string text, int width) {
  const int missing = width - display_width(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

std::string cut(std::string_view text, int width) {
  int used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (continues_character(text[i])) continue;
    if (used == width) return std::string(text.substr(0, i));
    ++used;
  }
  return std::string(text);
}

std::string paragraph(std::string_view label, std::string_view text, int indent,
                      const TextStyle& style) {
  std::string result;
  std::string line = pad_right(std::string(label), indent);
  int width = indent;
  bool line_is_empty = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    const int word_width = display_width(word);
    if (!line_is_empty && width + 1 + word_width > style.columns) {
      result += line + '\n';
      line.assign(static_cast<std::size_t>(indent), ' ');
      width = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) line += ' ';
    line += word;
    width += word_width + (line_is_empty ? 0 : 1);
    line_is_empty = false;
  }
  return result + line + '\n';
}

std::string bar(double share, int cells, const TextStyle& style) {
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  share = clamp_share(share);
  if (!style.unicode) return repeat("#", static_cast<int>(std::lround(share * cells)));
  const int eighths = static_cast<int>(std::lround(share * cells * 8));
  return repeat("█", eighths / 8) + std::string(kEighths[static_cast<std::size_t>(eighths % 8)]);
}

std::string stacked_bar(const std::vector<double>& shares, double idle_share, int cells,
                        const TextStyle& style) {
  std::string result;
  double sum = 0.0;
  int drawn = 0;
  int part = 0;
  const auto more_cells = [&](double share) {
    sum = clamp_share(sum + clamp_share(share));
    return static_cast<int>(std::lround(sum * cells)) - drawn;
  };
  for (const double share : shares) {
    const int more = more_cells(share);
    result += fill(part++, more, style);
    drawn += more;
  }
  return result + repeat(idle_bar_key(style), more_cells(idle_share));
}

std::string stacked_bar_key(int part, const TextStyle& style) { return fill(part, 1, style); }

std::string idle_bar_key(const TextStyle& style) { return style.unicode ? "·" : "."; }

std::string bold(std::string_view text, const TextStyle& style) {
  if (!style.color) return std::string(text);
  return "\033[1m" + std::string(text) + std::string(kReset);
}

std::string format_short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string format_ms(double ms) {
  const double size = std::abs(ms);
  return format_number(ms, size < 0.1      ? 4
                           : size < 1.0    ? 3
                           : size < 100.0  ? 2
                           : size < 1000.0 ? 1
                                           : 0);
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::str() const {
  std::vector<int> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line +=
          columns_[i] == Align::kLeft ? pad_right(row[i], widths[i]) : pad_left(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace neuroshard::tools
