#pragma once

#include <algorithm>

#include "neuroshard/table_memory.h"

namespace neuroshard {

// Memory traffic of rows: weights are read and written as they are stored; gradients, pooled
// outputs and the optimizer's state are fp32 whatever the type of the weights.

inline constexpr double kSectorBytes = 32.0;  ///< Smallest transfer from memory.

/// `dim` columns of fp32.
[[nodiscard]] inline double fp32_row_bytes(int dim) { return 4.0 * dim; }

/// `dim` columns of weights, with what a row has beside them.
[[nodiscard]] inline double weight_row_bytes(WeightType type, int dim) {
  const RowBytes bytes = weight_bytes(type);
  return static_cast<double>(bytes.per_column) * dim + static_cast<double>(bytes.per_row);
}

/// The same as it is transferred.
[[nodiscard]] inline double moved_fp32_row_bytes(int dim) {
  return std::max(kSectorBytes, fp32_row_bytes(dim));
}
[[nodiscard]] inline double moved_weight_row_bytes(WeightType type, int dim) {
  return std::max(kSectorBytes, weight_row_bytes(type, dim));
}

/// The optimizer's state of a row of `dim` columns: an array of columns or two, each row of which
/// is transferred by itself, and a number by row.
[[nodiscard]] inline double moved_state_row_bytes(Optimizer optimizer, int dim) {
  const RowBytes state = state_bytes(optimizer);
  const double arrays = static_cast<double>(state.per_column) / fp32_row_bytes(1);
  return arrays * moved_fp32_row_bytes(dim) + (state.per_row > 0 ? kSectorBytes : 0.0);
}

/// What a row of weights counts for in what cost models are told. These learn from fp32 that less
/// than a sector costs as much as a sector, so that other types must not be less than that.
[[nodiscard]] inline double counted_weight_row_bytes(WeightType type, int dim) {
  return std::min(fp32_row_bytes(dim), moved_weight_row_bytes(type, dim));
}

/// A row that is touched: the forward pass reads it, the update reads and writes it, and the
/// optimizer's state, too.
[[nodiscard]] inline double touched_row_bytes(const TableMemory& memory, int dim) {
  return counted_weight_row_bytes(memory.weight_type, dim) +
         2.0 / 3.0 * moved_state_row_bytes(memory.optimizer, dim);
}

/// Likewise a lookup: the forward pass reads a row of weights, and the update one of gradients.
[[nodiscard]] inline double looked_up_row_bytes(WeightType type, int dim) {
  return (counted_weight_row_bytes(type, dim) + fp32_row_bytes(dim)) / 2.0;
}

}  // namespace neuroshard
