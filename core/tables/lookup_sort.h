#pragma once

namespace neuroshard {

// Bytes of a lookup, as it comes and sorted.
inline constexpr double kIndexBytes = 8.0;
inline constexpr double kSortedBytes = 12.0;       ///< 8 for its row of the shard, 4 for its bag.
inline constexpr double kLookupWeightBytes = 4.0;  ///< Of Table::weighted: fp32.

/// A radix sort that groups lookups by row.
struct LookupSort {
  /// A plain copy moves so many in the time that the sort takes: docs/analytic_costs.md, "Of
  /// touched rows only".
  double copied_bytes = 0.0;
  /// Kernels that sort, and that update rows by what is sorted.
  double launches = 0.0;
};

/// Of `lookups` 64-bit ids in tables of `rows` rows in all.
[[nodiscard]] LookupSort lookup_sort(double lookups, double rows);

}  // namespace neuroshard
