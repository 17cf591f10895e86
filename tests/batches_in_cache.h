#pragma once

#include "core/tables/row_popularity.h"

namespace neuroshard::testing {

/// For so many batches a cache with room for `rows` rows keeps those that were looked up.
[[nodiscard]] inline double batches_in_cache(const RowReuse& reuse, double rows) {
  double low = 0.0;
  double high = 1e7;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2.0;
    (reuse.looked_up_lately(middle).in_hbm < rows ? low : high) = middle;
  }
  return low;
}

}  // namespace neuroshard::testing
