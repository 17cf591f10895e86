#pragma once

#include <cstdint>
#include <random>

#include "neuroshard/column_halvings.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

/// A task drawn from `seed`: few or many tables, with all kinds of degenerate ones among them (one
/// table, one device, equal tables, pooling factor 0, dim 4, tables larger than a device).
[[nodiscard]] Task random_task(std::uint64_t seed);

/// A task drawn from `seed` of everything that a task can say but rules and devices that differ
/// (search/random_rules.h adds those): like random_task(), with 1 to 16 devices, batches of 1,024
/// to 262,144 samples, buffers that count or do not, tables of every size with skewed row shares
/// and gathered gradients among them. Small tables are frequent, and tables that only row blocks
/// fit.
[[nodiscard]] Task random_task_of_all_kinds(std::uint64_t seed);

/// Leaves devices too little memory, and gives their hosts enough.
void add_host_memory(Task& task, std::uint64_t seed);

/// A plan of `task` by halves of columns, in memory or not.
[[nodiscard]] HalvedPlan random_halvings(const Task& task, std::mt19937_64& random);

/// Seeds of the tasks that a test of random tasks draws: [first, end). As many as `count`, from 0
/// on, unless the environment variables NEUROSHARD_RANDOM_TASKS and NEUROSHARD_FIRST_RANDOM_TASK
/// say otherwise. Throws std::invalid_argument if one of these is no number.
struct SeedRange {
  std::uint64_t first;
  std::uint64_t end;
};
[[nodiscard]] SeedRange random_task_seeds(std::uint64_t count);

/// Models with random weights, of the given widths; with a dense communication model for each of
/// `devices`, or a symmetric one if there are none.
struct ModelShape {
  std::vector<int> table_network = {128, 32};
  std::vector<int> head = {64, 1};
  std::vector<int> comm = {32, 16};  ///< Hidden layers.
  std::vector<int> devices{};
  /// Models of any batch: with operator features, prices of ids and lines for all-reduces.
  bool any_batch = false;
};
[[nodiscard]] CostModels random_models(std::uint64_t seed, const ModelShape& shape = {});

/// `models` whose samples have start offsets of all-to-alls up to so many ms.
[[nodiscard]] CostModels with_offsets_up_to(CostModels models, double most_offset_ms);

}  // namespace neuroshard::testing
