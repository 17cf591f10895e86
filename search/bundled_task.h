#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A task as the searches see it, without names: tables that groups keep together are one table, a
/// bundle, which is not cut, so that it is placed as a whole. The catalog has the models'
/// prediction for it by its tables (PieceCatalog). Its figures here serve heuristics that look at
/// no more than sizes and lookups: columns and lookups are those of all its tables, and its memory
/// is that or up to a column's bytes more.
struct BundledTask {
  /// Takes the tables of `listed` in this order. A bundle has the place of its first table.
  BundledTask(const Task& listed, std::span<const std::uint32_t> order);
  /// In the order of `listed`.
  explicit BundledTask(const Task& listed);

  /// Groups are those that keep tables apart.
  Task task;
  /// Index in the listed task of each table; a bundle's first.
  std::vector<std::uint32_t> original;
  /// [listed tables]: which table each is, or is in.
  std::vector<std::uint32_t> table_of;

  /// A table of `task` that is several of the listed ones.
  struct Bundle {
    std::uint32_t table = 0;
    std::vector<std::uint32_t> listed;  ///< In the order of the task.
    std::vector<Table> tables;
  };
  std::vector<Bundle> bundles;  ///< In the order of `task`.
  /// Null: that table is none.
  [[nodiscard]] const Bundle* bundle(std::size_t table) const;

  /// The plan of the listed task that `plan`, of `task`, stands for: a bundle becomes whole tables,
  /// in a row.
  [[nodiscard]] Plan plan_of_listed(const Plan& plan) const;
  /// The other way round: a plan of the listed task, which keeps to its groups, as one of `task`.
  [[nodiscard]] Plan plan_of_task(const Plan& listed) const;
};

/// The entries of `numbers` for each of `tables`, ascending.
[[nodiscard]] std::vector<int> renumbered(std::span<const int> tables,
                                          std::span<const std::uint32_t> numbers);

}  // namespace neuroshard
