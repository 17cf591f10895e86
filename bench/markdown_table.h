#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace neuroshard::bench {

/// A table in Markdown that is also aligned as plain text. The first column is flush left, the
/// others flush right.
class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  /// One cell a column of the header.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Three significant digits, thousands separated: "0.0123", "4.56", "12,300". Never an exponent.
[[nodiscard]] std::string three_digits(double value);
/// "1.234", "-" if not finite.
[[nodiscard]] std::string three_decimals(double value);
/// A share of 1 as a percentage: "98.5 %".
[[nodiscard]] std::string percent(double share);
/// 12,345,678.
[[nodiscard]] std::string with_separators(std::int64_t value);

}  // namespace neuroshard::bench
