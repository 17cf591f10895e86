#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Table::popularity; of a table that does not state it, Zipf's law with the exponent that
/// concentrates lookups on rows as much as its access histogram says.
[[nodiscard]] std::vector<PopularRows> popularity_of(const Table& table);

/// What is wrong with a stated curve of a table of so many rows, and what to do about it. Nothing
/// if it is empty or fine.
[[nodiscard]] std::optional<std::string> popularity_problem_of(
    const std::vector<PopularRows>& curve, std::int64_t rows);

/// How soon the rows of a table are looked up again, if each lookup is independent of all others
/// and the popularity of rows stays as it is. docs/host_memory.md has the formulas.
class RowReuse {
 public:
  /// Batches of so many samples.
  RowReuse(const Table& table, double samples);

  /// Expected distinct rows of so many batches, which need not be whole. What a cache that keeps
  /// the rows which were looked up last holds, if it holds those of so many batches.
  [[nodiscard]] double distinct_rows(double batches) const;
  /// Expected distinct rows that a batch has to fetch into that cache.
  [[nodiscard]] double missed_rows(double batches) const {
    return distinct_rows(batches + 1.0) - distinct_rows(batches);
  }
  /// Rows that are looked up at least once in so many batches, on average.
  [[nodiscard]] double popular_rows(double batches) const;
  /// Expected distinct rows of a batch that are not among them.
  [[nodiscard]] double unpopular_rows(double batches) const;

 private:
  /// Rows that are alike.
  struct Rows {
    double count;
    double lookups;  ///< Of each in a batch.
  };
  std::vector<Rows> rows_;  ///< The most popular ones first.
};

}  // namespace neuroshard
