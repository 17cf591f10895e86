#include "bench/measured/csv_table.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "weights/files/read_file.h"

namespace neuroshard::bench {
namespace {

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line + ',');  // getline() takes an end of text for none.
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

}  // namespace

CsvRow::CsvRow(std::string place, std::span<const std::string_view> columns,
               std::vector<std::string> cells)
    : place_(std::move(place)),
      columns_(columns.begin(), columns.end()),
      cells_(std::move(cells)) {}

const std::string& CsvRow::cell(std::string_view column) const {
  return cells_.at(
      static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin()));
}

const std::string& CsvRow::text(std::string_view column) const {
  const std::string& text = cell(column);
  if (text.empty()) fail(column, "is empty");
  return text;
}

double CsvRow::positive(std::string_view column) const {
  const std::optional<double> number = number_in<double>(text(column));
  if (!number || !std::isfinite(*number) || *number <= 0.0) {
    fail(column, "'" + cell(column) + "' is not a number above 0");
  }
  return *number;
}

std::int64_t CsvRow::integer(std::string_view column, std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> number = number_in<std::int64_t>(text(column));
  if (!number || *number < least || *number > most) {
    fail(column, "'" + cell(column) + "' is not a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  }
  return *number;
}

std::size_t CsvRow::one_of(std::string_view column, std::span<const std::string_view> names) const {
  const auto found = std::ranges::find(names, text(column));
  if (found == names.end()) {
    fail(column, "'" + cell(column) + "' is none of " + joined(names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void CsvRow::fail(std::string_view column, const std::string& fact) const {
  throw Error(place_ + ": " + std::string(column) + ": " + fact);
}

std::vector<CsvRow> read_csv(const std::filesystem::path& path,
                             std::span<const std::string_view> columns) {
  const std::string header = joined(columns, ",");
  std::istringstream lines(read_file(path));
  std::string line;
  if (!std::getline(lines, line) || line != header) {
    throw Error(path.string() + ":1: the header is '" + line + "'; it must be '" + header + "'");
  }
  std::vector<CsvRow> rows;
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::string place = path.string() + ":" + std::to_string(number);
    std::vector<std::string> cells = csv_cells(line);
    if (cells.size() != columns.size()) {
      throw Error(place + ": has " + std::to_string(cells.size()) + " cells; give " +
                  std::to_string(columns.size()) + ", separated by commas");
    }
    rows.emplace_back(place, columns, std::move(cells));
  }
  return rows;
}

}  // namespace neuroshard::bench
