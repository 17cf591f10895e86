#pragma once

#include <optional>
#include <span>

#include "neuroshard/task.h"

namespace neuroshard {

/// A task as its all-to-alls and operators see it. Where ids are deduplicated, a table is looked up
/// once for each distinct row of each device's part of the batch: it is replaced by one of so many
/// lookups that is not pooled, and nothing else knows of it. These are tables that are not pooled
/// (ExchangeTypes::deduplicate_ids) and those of a plan. docs/analytic_costs.md has the formulas.
/// Other tasks are as they are.
class DeduplicatedTask {
 public:
  /// Borrows `task`, which is valid. `tables`: Plan::deduplicated.
  explicit DeduplicatedTask(const Task& task, std::span<const int> tables = {});
  DeduplicatedTask(const DeduplicatedTask&) = delete;
  DeduplicatedTask& operator=(const DeduplicatedTask&) = delete;

  /// It says no more that ids are deduplicated, so that to ask again changes nothing.
  [[nodiscard]] const Task& task() const { return replaced_ ? *replaced_ : task_; }

 private:
  const Task& task_;
  std::optional<Task> replaced_;
};

}  // namespace neuroshard
