#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A table, or the columns of one that a plan keeps together.
struct TableSlice {
  int table = 0;         ///< Index into `Task::tables`.
  int first_column = 0;  ///< Of the unsplit table.
  int dim = 0;           ///< Columns of this slice.

  friend bool operator==(const TableSlice&, const TableSlice&) = default;
};

/// Where everything goes.
struct Plan {
  /// In order. Step `i` halves slice `i` of a list that starts as the task's tables: the first half
  /// of the columns keeps index `i`, the second is appended at the end.
  std::vector<int> column_splits;
  /// One list per device, of indices into the list of slices after all splits.
  std::vector<std::vector<int>> shards;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// True if both halves of a slice with `dim` columns have a multiple of `kDimMultiple` columns.
[[nodiscard]] constexpr bool can_split_columns(int dim) {
  return dim > 0 && dim % (2 * kDimMultiple) == 0;
}

/// The slices after `column_splits`. Throws Error on a step that is out of range or impossible.
[[nodiscard]] std::vector<TableSlice> split_columns(const Task& task,
                                                    const std::vector<int>& column_splits);

/// [devices]: the slices on each device, in the order of its shard. `plan` is valid for `task`.
[[nodiscard]] std::vector<std::vector<TableSlice>> slices_by_device(const Task& task,
                                                                    const Plan& plan);

/// Throws Error unless `plan` places every column of every table of `task` on exactly one of
/// `task.devices` devices. Does not look at memory.
void validate(const Plan& plan, const Task& task);

/// Milliseconds of one training iteration at batch 65,536.
struct DeviceCost {
  double compute_ms = 0.0;        ///< Forward and backward of the fused embedding operator.
  double forward_ms = 0.0;        ///< All-to-all of the forward pass.
  double backward_ms = 0.0;       ///< All-to-all of the backward pass.
  std::int64_t memory_bytes = 0;  ///< Of its slices: the total of `memory`.
  std::int64_t dim_sum = 0;
  int slices = 0;
  SliceMemory memory{};
  std::int64_t reserved_bytes = 0;
  std::int64_t free_bytes = 0;  ///< Below 0: it does not fit.

  [[nodiscard]] double total_ms() const { return compute_ms + backward_ms + forward_ms; }
};

struct PlanCost {
  std::vector<DeviceCost> devices;
  double cost_ms = 0.0;      ///< Of the slowest device; infinite if there is no plan.
  bool fits_memory = false;  ///< False: some device lacks memory, and the plan cannot run.
  /// Not empty if a predicted time is negative, or (of a Planner) if tables, slices or devices lie
  /// outside what the models were trained on (training_ranges.h), or costs of another type of
  /// weights or batch are asked for than they predict (prediction_limits.h).
  std::string warning;
};

}  // namespace neuroshard
#pragma GCC visibility pop
