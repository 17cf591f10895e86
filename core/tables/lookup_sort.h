#pragma once

namespace neuroshard {

/// A radix sort that groups lookups by row.
struct LookupSort {
  /// What a plain copy moves in the time that the sort takes: docs/analytic_costs.md, "Compute cost
  /// of a shard".
  double copied_bytes = 0.0;
  double passes = 0.0;
};

/// Of `lookups` 64-bit ids in tables of `rows` rows in all.
[[nodiscard]] LookupSort lookup_sort(double lookups, double rows);

}  // namespace neuroshard
