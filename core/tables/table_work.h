#pragma once

#include "core/tables/access_statistics.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A table's part of an operator of FBGEMM's kind, which looks up all tables of a device, forward,
/// backward and update, in terms of what such an operator is made of.
struct TableWork {
  double bags = 0.0;     ///< Sequences, if the table is not pooled.
  double lookups = 0.0;  ///< Weights come with them, or do not.
  double outputs = 0.0;  ///< One of each bag, or of each lookup.
  double rows = 0.0;     ///< Distinct rows that are touched.
  /// Rows that are looked up more than 32 times. A block updates each, where a warp updates others.
  double frequent_rows = 0.0;
  // Bytes that are transferred of a row, and of all pooled outputs, fp32.
  double weight_bytes = 0.0;
  double state_bytes = 0.0;
  double gradient_bytes = 0.0;
  double output_bytes = 0.0;
};

/// Columns `dim` of `table`, in `samples` samples, whose accesses are `profile`.
[[nodiscard]] TableWork table_work(const Table& table, const AccessProfile& profile, double samples,
                                   int dim);

/// Threads that take a row of `dim` columns, over those of a warp: a thread has 4 columns at a
/// time, and rows have 8, 16 or 32 threads.
[[nodiscard]] double warp_share(int dim);
/// These threads, once for each 128 columns begun: they go over the row so often.
[[nodiscard]] double warp_work(int dim);

/// Passes of a radix sort of `rows` row numbers, 8 bits each. Bits that do not fill a pass count by
/// their part of one: a network cannot see where one begins.
[[nodiscard]] double sort_passes(double rows);

/// Rows of so few columns that are not pooled have a kernel of their own.
inline constexpr int kMostNarrowColumns = 32;

[[nodiscard]] inline bool is_narrow_sequence(const Table& table, int dim) {
  return table.pooling == Pooling::kNone && dim <= kMostNarrowColumns;
}
/// Its threads' work by lookup, in that of a row of 32 columns.
[[nodiscard]] inline double narrow_row_work(int dim) { return (24.0 + dim) / 56.0; }

/// An update that keeps two numbers a column takes more instructions, not just more bytes.
[[nodiscard]] bool has_two_moments(Optimizer optimizer);

}  // namespace neuroshard
