#pragma once

#include <optional>

#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/bundled_task.h"

namespace neuroshard {

/// `task` with rules on devices in the place of its groups, which keep tables apart: each of their
/// tables gets devices of its own, more of them the more it has to do, so that whatever is placed
/// under these rules keeps the groups. For starts; not all plans that keep the groups keep these
/// rules. Nothing if some table is left without a device, within a bounded number of steps and
/// before `stop`.
[[nodiscard]] std::optional<Task> with_devices_of_apart_tables(const Task& task,
                                                               const StopCondition& stop = {});

/// A plan of `task` by `place`, std::optional<Plan>(const Task&), which looks at no groups: it gets
/// bundles as one table, and these rules.
template <typename Place>
[[nodiscard]] std::optional<Plan> plan_without_groups(const Task& task, const StopCondition& stop,
                                                      const Place& place) {
  const BundledTask bundled(task);
  const std::optional<Task> starts = with_devices_of_apart_tables(bundled.task, stop);
  if (!starts) return std::nullopt;
  const std::optional<Plan> plan = place(*starts);
  return plan ? std::optional(bundled.plan_of_listed(*plan)) : std::nullopt;
}

}  // namespace neuroshard
