#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "neuroshard/task.h"
#include "weights/lookups/row_map.h"

namespace neuroshard {

/// Counts how often a batch touches each row of a table.
class RowCounter {
 public:
  enum class Counts { kForBins, kExact };
  /// Exact counts are for lookup_shares(); the bins need none, and are counted faster without.
  explicit RowCounter(Counts counts = Counts::kForBins) : exact_(counts == Counts::kExact) {}

  /// Indices are not negative.
  void add(std::span<const std::int64_t> indices);

  [[nodiscard]] std::int64_t largest_index() const { return touches_.largest(); }
  /// Rows touched, by histogram bin.
  [[nodiscard]] std::array<std::int64_t, kHistogramBins> rows_by_bin() const;

  /// Shares of all lookups that `parts` equal parts of the first `rows` rows got, as in
  /// Table::row_shares. A row that lies in several parts counts in each as far as it lies there.
  /// Counts are exact, and all rows are below `rows`; there is a lookup.
  [[nodiscard]] std::vector<double> lookup_shares(std::int64_t rows, int parts) const;

  /// Forgets the table but keeps the memory.
  void clear();

 private:
  // The bins end below 2^16 touches, so counting may stop there; exact counts go on in `full_`.
  RowMap<std::uint16_t> touches_;
  std::unordered_map<std::int64_t, std::int64_t> full_;  // Touches beyond those of full counters.
  bool exact_;
};

}  // namespace neuroshard
