#pragma once

#include <optional>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A plan whose slices are columns: halves of halves ... of tables. The published system knows no
/// others, and its files and plan files of version 1 state them so.
struct HalvedPlan {
  /// Steps in order. Step `i` of value `s` halves slice `s` of a list that starts as the task's
  /// tables: the first half of the columns keeps index `s`, the second is appended at the end.
  std::vector<int> column_splits;
  /// One list per device, of indices into the list of slices after all splits.
  std::vector<std::vector<int>> shards;

  friend bool operator==(const HalvedPlan&, const HalvedPlan&) = default;
};

/// The slices after `column_splits`. Throws Error on a step that is out of range or impossible.
[[nodiscard]] std::vector<TableSlice> split_columns(const Task& task,
                                                    const std::vector<int>& column_splits);

/// Makes the same plan by its slices, which have the indices that `halved` gives them. Throws Error
/// as split_columns() does.
[[nodiscard]] Plan plan_from_halvings(const Task& task, HalvedPlan halved);

/// The column splits that make the slices of `plan`, which is valid for its task; nothing if it has
/// replicas, row blocks, or columns that are no half of a half ... of their table. For a plan from
/// plan_from_halvings() they are the splits that it was made from. If its slices come in an order
/// that no splits bring about, they get other indices: entry `i` of a shard is the same slice.
[[nodiscard]] std::optional<HalvedPlan> halvings_of(const Plan& plan);

}  // namespace neuroshard
#pragma GCC visibility pop
