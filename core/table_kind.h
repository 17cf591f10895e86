#pragma once

#include <tuple>

#include "neuroshard/task.h"

namespace neuroshard {

/// What costs and memory depend on: all of a table but its name. Tables of one kind can take each
/// other's place.
[[nodiscard]] inline auto kind_of(const Table& table) {
  // A new field of Table does not compile here until it is said whether costs depend on it.
  const auto& [name, rows, dim, pooling_factor, access_histogram, memory] = table;
  (void)name;
  return std::tie(rows, dim, pooling_factor, access_histogram, memory);
}

}  // namespace neuroshard
