#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// A task with its tables in an order that depends on what they are, not on how they were listed:
/// searches that start from it find plans of the same cost for any order of the tables. Names are
/// left out.
struct CanonicalTask {
  explicit CanonicalTask(const Task& listed);

  Task task;
  std::vector<std::uint32_t> original;  ///< Index in the listed task of each table.
};

}  // namespace neuroshard
