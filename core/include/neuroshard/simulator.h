#pragma once

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Predicts the cost of `plan` for `task`, device by device. Throws Error if the plan does not
/// place every row and column of every table exactly once or replicate the table. Throws Error if
/// the models lack the task's device count, do not price replicas that the plan has, or are for
/// another batch than the task's. Throws Error, too, if one of them predicts no number below 2^32
/// ms in magnitude: its weights, finite as they are, overflow.
///
/// cost = max over devices of (compute + backward + forward), where forward depends on when each
/// device is ready: start offset r = (compute + backward) of r - the least of all devices. Further
/// terms are ids, by models that price them, the cost of replicas (core/plans/replicas.h), and the
/// dense part, as far as Task::overlap does not hide them (core/plans/iteration.h).
[[nodiscard]] PlanCost simulate(const Backend& backend, const Task& task, const Plan& plan);

}  // namespace neuroshard
#pragma GCC visibility pop
