#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// The rank after `rank` of those at which curves have a point: each of the first ones, then
/// a quarter of their rank apart. At most `last`.
[[nodiscard]] double next_curve_rank(double rank, double last);

/// Table::popularity; of a table that does not state it, Zipf's law with the exponent that
/// concentrates lookups on rows as much as its access histogram says.
[[nodiscard]] std::vector<PopularRows> popularity_of(const Table& table);

/// All tables of the task state theirs; but not those that are left once `stop` is reached.
[[nodiscard]] Task with_known_popularity(const Task& task, const StopCondition& stop = {});

/// Says what is wrong with a stated curve of a table of so many rows, and what to do about it.
/// Nothing if it is empty or fine.
[[nodiscard]] std::optional<std::string> popularity_problem_of(
    const std::vector<PopularRows>& curve, std::int64_t rows);

/// Expected share of the rows of a table that at least one of so many samples looks up, if lookups
/// are independent and rows stay as popular as they are.
[[nodiscard]] double touched_share(const Table& table, double samples);

/// How soon the rows of a table are looked up again, if each lookup is independent of all others
/// and the popularity of rows stays as it is. docs/host_memory.md has the formulas.
class RowReuse {
 public:
  /// Batches of so many samples.
  RowReuse(const Table& table, double samples);

  /// Rows of the table that are in HBM, and those that a batch has to fetch, both expected.
  struct Rows {
    double in_hbm = 0.0;
    double fetched = 0.0;
  };
  /// Rows stay in HBM for so many batches, which need not be whole, after they were looked up: a
  /// cache that has room for as many, and keeps those that were looked up last.
  [[nodiscard]] Rows looked_up_lately(double batches) const;
  /// Rows that are looked up at least once in so many batches on average are in HBM for good.
  [[nodiscard]] Rows popular(double batches) const;

 private:
  /// Rows that are alike.
  struct Alike {
    double count;
    double lookups;  ///< Lookups of each in a batch.
    double touched;  ///< Rows of these that a batch touches.
  };
  std::vector<Alike> rows_;  ///< The most popular ones first.
};

}  // namespace neuroshard
