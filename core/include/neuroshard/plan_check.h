#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/column_halvings.h"
#include "neuroshard/plan.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Something that is wrong with a plan. Numbers that do not apply are -1.
struct PlanProblem {
  enum class Kind {
    kTask,     ///< The plan is one of another task.
    kSplit,    ///< A column split is impossible.
    kDevices,  ///< There is not one shard a device.
    kSlice,    ///< A slice does not exist, overlaps another, is missing, or is not on one device.
    kMemory,   ///< The plan is valid, but a device lacks memory.
    kRule,     ///< The plan is valid, but breaks a rule of a table, or of a group.
  };
  Kind kind = Kind::kSlice;
  int device = -1;
  int slice = -1;  ///< Index into `Plan::slices`.
  int table = -1;  ///< Index into `Task::tables`.
  std::string what;
  std::string remedy;

  /// `what` and `remedy` in one line.
  [[nodiscard]] std::string message() const;
};

/// "task", "split", "devices", "slice", "memory", "rule".
[[nodiscard]] std::string_view name_of(PlanProblem::Kind kind);

/// Lists everything that is wrong with `plan`, which may be any. First come slices that do not
/// cover the tables once, then shards, then slices that are on no device, then memory, then rules.
/// Empty: the plan is valid for `task`, fits, and keeps all rules. `task` is valid. Takes n log n
/// steps for n slices, unless many overlap.
[[nodiscard]] std::vector<PlanProblem> check_plan(const Plan& plan, const Task& task);

/// Checks column splits, in order, in place of slices, and the rest as above. After an impossible
/// split, the others are checked as if its second half were an empty slice, so that one mistake
/// does not bring forth others.
[[nodiscard]] std::vector<PlanProblem> check_plan(const HalvedPlan& plan, const Task& task);

}  // namespace neuroshard
#pragma GCC visibility pop
