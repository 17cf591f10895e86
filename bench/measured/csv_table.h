#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::bench {

/// A line of a file of comma-separated values. A column must be one that the file was read with.
/// Every function but cell() throws Error naming file, line and column.
class CsvRow {
 public:
  CsvRow(std::string place, std::span<const std::string_view> columns,
         std::vector<std::string> cells);

  [[nodiscard]] const std::string& cell(std::string_view column) const;
  /// Not empty.
  [[nodiscard]] const std::string& text(std::string_view column) const;
  /// Finite, and above 0.
  [[nodiscard]] double positive(std::string_view column) const;
  [[nodiscard]] std::int64_t integer(std::string_view column, std::int64_t least,
                                     std::int64_t most) const;
  /// Which of `names` it is.
  [[nodiscard]] std::size_t one_of(std::string_view column,
                                   std::span<const std::string_view> names) const;
  /// `convert(text(column))`, whose Error then names the cell.
  template <typename Convert>
  [[nodiscard]] auto converted(std::string_view column, const Convert& convert) const {
    try {
      return convert(text(column));
    } catch (const Error& error) {
      fail(column, error.what());
    }
  }

  [[noreturn]] void fail(std::string_view column, const std::string& fact) const;

 private:
  std::string place_;  ///< File and line.
  std::vector<std::string_view> columns_;
  std::vector<std::string> cells_;
};

/// The lines of a file after its header, which must be `columns`. Cells have no quotes and no
/// commas. Throws Error naming the file, and a line that has more or fewer cells.
[[nodiscard]] std::vector<CsvRow> read_csv(const std::filesystem::path& path,
                                           std::span<const std::string_view> columns);

}  // namespace neuroshard::bench
