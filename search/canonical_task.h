#pragma once

#include "neuroshard/task.h"
#include "search/bundled_task.h"

namespace neuroshard {

/// A task with its tables in an order that depends on what they are, not on how they were listed:
/// searches that start from it find plans of the same cost for any order of the tables. Names are
/// left out.
struct CanonicalTask : BundledTask {
  explicit CanonicalTask(const Task& listed);
};

}  // namespace neuroshard
