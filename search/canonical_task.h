#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/task.h"
#include "search/bundled_task.h"

namespace neuroshard {

/// Indices of the tables of `listed` in an order that depends on what they are, and of equal ones
/// on `ranks`, [tables], or none, and on the groups that they are in; not on how they were listed.
[[nodiscard]] std::vector<std::uint32_t> canonical_order(const Task& listed,
                                                         std::span<const std::uint64_t> ranks = {});

/// A task with its tables in that order: searches that start from it find plans of the same cost
/// for any order of the tables.
[[nodiscard]] inline BundledTask canonical_task(const Task& listed) {
  return {listed, canonical_order(listed)};
}

/// Halves of halves as plan files have them, so that a plan is what is read back.
[[nodiscard]] Plan in_normal_form(const Task& task, Plan plan);

}  // namespace neuroshard
