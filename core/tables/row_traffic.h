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

/// Bytes of the row as it is transferred.
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

}  // namespace neuroshard
