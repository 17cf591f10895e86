#pragma once

#include <functional>

#include "core/plans/deduplicated_task.h"
#include "core/plans/hot_rows.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// A plan and its task as cost models see them: hot rows are replicas, and tables whose ids are
/// deduplicated have the lookups that are left.
class PricedPlan {
 public:
  /// Borrows both, which are valid.
  PricedPlan(const Task& task, const Plan& plan)
      : split_(task, plan), deduplicated_(split_.task(), plan.deduplicated) {}
  /// `parts_of`: as HotRowsSplit has it.
  PricedPlan(const Task& task, const Plan& plan,
             const std::function<const HotParts&(const HotRows&)>& parts_of)
      : split_(task, plan, parts_of), deduplicated_(split_.task(), plan.deduplicated) {}

  [[nodiscard]] const Task& task() const { return deduplicated_.task(); }
  /// With all ids: replicas look up tables for themselves.
  [[nodiscard]] const Task& with_all_ids() const { return split_.task(); }
  [[nodiscard]] const Plan& plan() const { return split_.plan(); }
  /// The listed table that a table of task() is a part of.
  [[nodiscard]] int listed(int table) const { return split_.listed(table); }

 private:
  HotRowsSplit split_;
  DeduplicatedTask deduplicated_;
};

/// The cost that simulate() says. `backend` has the setting of the task as it is stated: parts of
/// its tables may have so many more columns that a task of them has another one.
[[nodiscard]] PlanCost cost_of(const Backend& backend, const PricedPlan& priced);

}  // namespace neuroshard
