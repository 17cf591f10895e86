#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// The lookups of one batch in one table: sample `s` looks up rows
/// `indices[offsets[s] .. offsets[s + 1])`.
struct AccessStream {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> offsets{0};  ///< batch + 1 entries.
};

/// round(pooling_factor * batch). Throws Error at 2^32 lookups or more, and unless one feature
/// reads the table and its rows are summed up as they are: other operators are not measured.
[[nodiscard]] std::int64_t lookups_of_batch(const Table& table, std::int64_t batch);

/// How often a batch touches each of the distinct rows of a table: whole numbers with the table's
/// histogram (shares rounded to whole rows) that add up to
/// `lookups_of_batch`.
[[nodiscard]] std::vector<std::uint32_t> plan_touches(const Table& table, std::int64_t batch,
                                                      Random& random);

/// `table` with the pooling factor and histogram that `touches` has.
[[nodiscard]] Table with_statistics_of(const Table& table, std::span<const std::uint32_t> touches,
                                       std::int64_t batch);

/// All rows of a table in an order that scatters them, the last one first.
class ScatteredRows {
 public:
  explicit ScatteredRows(std::int64_t rows);
  [[nodiscard]] std::int64_t next();

 private:
  std::int64_t rows_;
  std::int64_t step_;
  std::int64_t row_;
};

/// Offsets of so many lookups, each in a random sample.
[[nodiscard]] std::vector<std::int64_t> random_offsets(std::int64_t lookups, std::int64_t samples,
                                                       Random& random);

/// A batch that touches the table's rows as often as `touches` says, each lookup in a random
/// sample. The touched rows lie scattered over the table and include the last one. Needs at least
/// as many rows as touches, else throws Error.
[[nodiscard]] AccessStream make_stream(const Table& table, std::span<const std::uint32_t> touches,
                                       std::int64_t batch, Random& random);

}  // namespace neuroshard
