#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard::bench {

/// A job after something has happened to it.
struct Changed {
  Task task;
  std::vector<int> lost_devices;
};

using JobChange = std::function<Changed(const Task&, Random&)>;

/// Changes of a running job, in one or several steps.
struct Scenario {
  const char* name;
  int changes;
  JobChange change;
  bool one_account = false;  ///< Changes may move what those before left of their budgets.
};

/// All scenarios, or those whose names have one of these words.
[[nodiscard]] std::vector<const Scenario*> scenarios(const std::vector<std::string>& names);

}  // namespace neuroshard::bench
