#pragma once

#include <cstdint>

#include "neuroshard/task.h"

namespace neuroshard::testing {

/// A table of which nothing is said but its sizes; all lookups are in one bin of the histogram.
[[nodiscard]] inline Table plain_table(std::int64_t rows, int dim, double pooling_factor) {
  Table table{.rows = rows, .dim = dim, .pooling_factor = pooling_factor};
  table.access_histogram[1] = 1.0;
  return table;
}

}  // namespace neuroshard::testing
