#pragma once

#include <tuple>

#include "neuroshard/task.h"

namespace neuroshard {

/// Properties on which costs and memory depend, and which plans keep to: all of a table but its
/// name. Tables of one kind can take each other's place.
[[nodiscard]] inline auto kind_of(const Table& table) {
  // A new field of Table does not compile here until it is said whether plans depend on it.
  const auto& [name, rows, dim, pooling_factor, access_histogram, memory, rules, row_shares,
               replica_gradients, features, pooling, weighted, once_in_samples, popularity,
               replica_devices] = table;
  (void)name;
  const auto& [no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds,
               keep_in_hbm, hbm_share] = rules;
  return std::tie(rows, dim, pooling_factor, access_histogram, memory, no_split, min_width,
                  max_slices, devices, not_devices, nodes, not_nodes, kinds, keep_in_hbm, hbm_share,
                  row_shares, replica_gradients, features, pooling, weighted, once_in_samples,
                  popularity, replica_devices);
}

}  // namespace neuroshard
