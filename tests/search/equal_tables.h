#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard::testing {

/// "t0", "t1", ...: tables that are alike but for their names.
[[nodiscard]] inline std::vector<Table> equal_tables(int count, std::int64_t rows, int dim,
                                                     double pooling_factor = 1.0) {
  std::vector<Table> tables;
  for (int i = 0; i < count; ++i) {
    tables.push_back({.name = "t" + std::to_string(i),
                      .rows = rows,
                      .dim = dim,
                      .pooling_factor = pooling_factor,
                      .access_histogram = {1.0}});
  }
  return tables;
}

}  // namespace neuroshard::testing
