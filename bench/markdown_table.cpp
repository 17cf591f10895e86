#include "bench/markdown_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/message_text.h"

namespace neuroshard::bench {
namespace {

std::string padded(const std::string& cell, std::size_t width, bool flush_left) {
  const std::string gap(width - cell.size(), ' ');
  return flush_left ? cell + gap : gap + cell;
}

}  // namespace

std::string MarkdownTable::str() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += (i == 0 ? "| " : " | ") + padded(rows_[r][i], widths[i], i == 0);
    }
    text += " |\n";
    if (r > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += '|';
      text.append(widths[i] + 1, '-');
      text += i == 0 ? '-' : ':';
    }
    text += "|\n";
  }
  return text;
}

std::string with_separators(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::abs(value);
  if (magnitude >= 999.5) {
    const double unit = std::pow(10.0, std::floor(std::log10(magnitude)) - 2.0);
    return with_separators(std::llround(std::round(value / unit) * unit));
  }
  if (magnitude == 0.0) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return format_number(value, std::min(9, std::max(0, 3 - before_point)));
}

std::string three_decimals(double value) {
  return std::isfinite(value) ? format_number(value, 3) : "-";
}

std::string percent(double share) { return std::isfinite(share) ? format_percent(share, 1) : "-"; }

}  // namespace neuroshard::bench
