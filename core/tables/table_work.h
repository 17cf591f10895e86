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
/// Times that these threads go over the row.
[[nodiscard]] double warp_passes(int dim);

/// Bits of row numbers that a pass of a radix sort orders.
inline constexpr double kBitsPerPass = 8.0;

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
