#pragma once

namespace neuroshard {

/// A radix sort that groups lookups by row.
struct LookupSort {
  double bytes = 0.0;  ///< Memory traffic: docs/analytic_costs.md, "Compute cost of a shard".
  double passes = 0.0;
};

/// Of `lookups` 64-bit ids in tables of `rows` rows in all.
[[nodiscard]] LookupSort lookup_sort(double lookups, double rows);

}  // namespace neuroshard
