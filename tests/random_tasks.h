#pragma once

#include <cstdint>
#include <random>

#include "neuroshard/cost_models.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

/// A task drawn from `seed`: few or many tables, with all kinds of degenerate ones among them (one
/// table, one device, equal tables, pooling factor 0, dim 4, tables larger than a device).
[[nodiscard]] Task random_task(std::uint64_t seed);

/// Models with random weights, of the given widths; with a dense communication model for each of
/// `devices`, or a symmetric one if there are none.
struct ModelShape {
  std::vector<int> table_network = {128, 32};
  std::vector<int> head = {64, 1};
  std::vector<int> comm = {32, 16};  ///< Hidden layers.
  std::vector<int> devices{};
  /// Of any batch: with features of traffic, prices of ids and lines for all-reduces.
  bool any_batch = false;
};
[[nodiscard]] CostModels random_models(std::uint64_t seed, const ModelShape& shape = {});

}  // namespace neuroshard::testing
