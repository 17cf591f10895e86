#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neuroshard/planner.h"

namespace neuroshard::testing {

/// A plan that runs, and what its job has become.
struct ChangedJob {
  RunningPlan running;
  Task task;
};

/// Nothing if the task drawn has no plan.
[[nodiscard]] std::optional<ChangedJob> changed_job(const Planner& planner, std::uint64_t seed);

/// Rows that a table has in the running plan; 0: it is new.
[[nodiscard]] std::int64_t rows_before(const ChangedJob& job, const std::string& name);

/// Expects that every column that a device needs is there already or in exactly one move, whose
/// sender has it; bytes are those of what is new to the device.
void expect_moves_make_the_plan(const ChangedJob& job, const ReplanResult& replanned);

}  // namespace neuroshard::testing
