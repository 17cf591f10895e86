#pragma once

#include <span>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Analytic cost of one training iteration, milliseconds.
struct AnalyticCompute {
  double forward_ms = 0.0;
  double backward_ms = 0.0;  ///< And update.

  [[nodiscard]] double total_ms() const { return forward_ms + backward_ms; }
};

/// Forward + backward + update of the fused embedding-bag operator over the tables of one device:
/// the tables' types of weights, optimizers and pooling, fp32 outputs and gradients, 64-bit
/// indices, checked bounds, cold caches. `samples`, which the tables' histograms are for, need not
/// be whole: the mean share of a device. No tables: all zero. A sum of terms that is fitted to
/// FBGEMM's operator on H100 and H200: docs/analytic_costs.md, "Compute cost of a shard". For other
/// GPUs instructions scale with multiprocessors and clock, bytes with the memory's rate.
[[nodiscard]] AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                               double samples = kDefaultBatchSize);

/// Any operator takes so long, of however few tables.
[[nodiscard]] double operator_fixed_ms(const GpuSpec& gpu);

/// A table's part of an operator whose widest row has `widest` columns, or as many as the table.
/// Alone it takes operator_fixed_ms() + added_ms + once_ms + ms_per_bit * log2(rows). Beside other
/// tables it adds at least added_ms, with the rows of all tables in the logarithm, and the operator
/// has at least once_ms of any of its tables.
struct OperatorPart {
  double added_ms = 0.0;
  double ms_per_bit = 0.0;  ///< By bits of row numbers that are sorted.
  double once_ms = 0.0;
};
[[nodiscard]] OperatorPart operator_part(const GpuSpec& gpu, const Table& table, int widest,
                                         double samples);

/// At least so much of a table that is cut into blocks of rows: `lookups` of all blocks together,
/// and `each_ms` of each. Rows that are cached and bits that are sorted make it no sum of blocks,
/// but a convex function of their shares, of which this is a tangent.
struct BlocksPart {
  OperatorPart lookups{};  ///< once_ms of operators with a block of a frequent row at least.
  double each_ms = 0.0;
  double each_once_ms = 0.0;   ///< once_ms of operators with any block.
  double frequent_rows = 0.0;  ///< Sum over all blocks, in proportion. 0: nothing is known of them.
};
/// The tangent is exact for so many equal `blocks`, but for the sort; of infinitely many each row
/// is read once. `even`: all rows are looked up alike; else nothing is said of rows. `widest` as
/// above.
[[nodiscard]] BlocksPart blocks_part(const GpuSpec& gpu, Table table, int widest, double samples,
                                     bool even, double blocks);

}  // namespace neuroshard
