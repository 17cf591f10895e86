#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/planner.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Devices that the tables of a task might get. They are equal; if they are as many as the task
/// lists, they have the base loads that it lists.
struct TaskVariant {
  int devices = 0;
  /// Memory of one device. Nothing: each has what the task says.
  std::optional<std::int64_t> memory_bytes{};
  /// As HostMemory::bytes: of each device or node. 0: HBM alone. Nothing: what the task has.
  std::optional<std::int64_t> host_bytes{};
};

/// `task` with other devices.
[[nodiscard]] Task task_with(const Task& task, const TaskVariant& variant);

/// Plans each of `variants`: outcomes are those of Planner::plan_batch() for task_with() of each,
/// in order. But more memory, of devices or hosts, never costs more. The search is not exhaustive:
/// if it finds a cheaper plan for as many devices with less memory, that one is returned. Throws
/// Error as plan_batch() does.
[[nodiscard]] std::vector<PlanOutcome> plan_variants(const Planner& planner, const Task& task,
                                                     std::span<const TaskVariant> variants,
                                                     const PlanRequest& request = {});

}  // namespace neuroshard
#pragma GCC visibility pop
