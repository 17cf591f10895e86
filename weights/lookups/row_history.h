#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "neuroshard/task.h"
#include "weights/lookups/miss_curve.h"
#include "weights/lookups/recency_order.h"
#include "weights/lookups/row_map.h"

namespace neuroshard {

/// Counts how often, and how soon again, batch after batch looks up the rows of a table.
class RowHistory {
 public:
  /// Distances between lookups of a row, for miss_curve(), take about as long as all the rest.
  explicit RowHistory(bool with_distances) : with_distances_(with_distances) {}

  /// Lookups of the current batch; rows are not negative.
  void add(std::span<const std::int64_t> rows);
  /// `counted`: its misses are in the curve. Batches before warm caches up.
  void end_batch(bool counted);

  [[nodiscard]] std::int64_t largest_row() const { return rows_.largest(); }
  /// Rows that a batch touches so often, by histogram bin, summed up over batches.
  [[nodiscard]] const std::array<std::int64_t, kHistogramBins>& rows_by_bin() const {
    return rows_by_bin_;
  }
  /// How many rows all batches together touch so often; counts end at 2^32 - 1.
  [[nodiscard]] std::map<std::uint32_t, std::int64_t> rows_by_touches() const;
  /// At least one batch was counted.
  [[nodiscard]] MissCurve miss_curve() const;

  /// Forgets the table but keeps the memory.
  void clear();

 private:
  struct Row {
    std::uint32_t place = 0;  ///< In order_, 0: none. In the current batch, its number and a flag.
    std::uint32_t touches = 0;
  };
  struct RowOfBatch {
    std::int64_t row;
    std::uint32_t place;  ///< Before the batch.
    std::uint32_t touches;
    std::int64_t last;  ///< Lookup of the batch.
  };
  static constexpr std::uint32_t kInBatch = std::uint32_t{1} << 31;

  void measure();

  bool with_distances_;
  RowMap<Row> rows_;
  std::vector<RowOfBatch> batch_;
  std::int64_t lookups_of_batch_ = 0;
  std::array<std::int64_t, kHistogramBins> rows_by_bin_{};
  RecencyOrder order_;
  MissCounter misses_;
  std::int64_t counted_batches_ = 0;
  std::int64_t warm_rows_ = 0;
};

}  // namespace neuroshard
