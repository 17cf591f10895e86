#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/message_text.h"
#include "tools/console/console.h"

namespace neuroshard::tools {

/// Columns that UTF-8 `text` takes on a terminal, colour codes not counted. One a code point, which
/// holds for everything that the tools draw.
[[nodiscard]] int display_width(std::string_view text);
[[nodiscard]] std::string pad_left(std::string text, int width);
[[nodiscard]] std::string pad_right(std::string text, int width);
/// At most `width` columns of `text`, never part of a character. For text without colour codes.
[[nodiscard]] std::string cut(std::string_view text, int width);

/// `label`, padded to `indent` columns, then `text` broken between words to stay within the width
/// of `style`; further lines are indented alike. Ends in a newline.
[[nodiscard]] std::string paragraph(std::string_view label, std::string_view text, int indent,
                                    const TextStyle& style);

/// A horizontal bar: `share` (0 to 1) of `cells`, not padded. In Unicode in steps of 1/8 cell.
[[nodiscard]] std::string bar(double share, int cells, const TextStyle& style);

/// Bars end to end, told apart by fill (and colour), at most six, and dots for `idle_share`. All
/// shares add up to at most 1. The length of the whole is right to half a cell whatever the parts.
[[nodiscard]] std::string stacked_bar(const std::vector<double>& shares, double idle_share,
                                      int cells, const TextStyle& style);
/// The fill of part `part` of a stacked bar, and that of what is idle, for a legend.
[[nodiscard]] std::string stacked_bar_key(int part, const TextStyle& style);
[[nodiscard]] std::string idle_bar_key(const TextStyle& style);

[[nodiscard]] std::string bold(std::string_view text, const TextStyle& style);

/// Three significant digits, with an exponent where that is shorter: "0.0123", "1.23e-05".
[[nodiscard]] std::string format_short(double value);
/// Milliseconds with enough digits for three significant ones: "0.0123", "4.56", "1234".
[[nodiscard]] std::string format_ms(double ms);

/// Rows of cells, aligned in columns two spaces apart.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}
  /// One cell a column.
  void add_row(std::vector<std::string> cells);
  [[nodiscard]] std::string str() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace neuroshard::tools
