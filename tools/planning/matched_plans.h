#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan_file.h"
#include "tools/options/task_options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace neuroshard::tools {

/// Message for a task whose record has no plan.
inline constexpr std::string_view kNoPlanInFile = "the plan file says that there is none";

/// --plan.
CLI::Option* add_plan_option(CLI::App& command, std::string& file);

struct MatchedPlan {
  std::size_t task = 0;  ///< Position in LoadedTasks.
  const PlanRecord* record = nullptr;
};

/// One plan a task: by the number that the file gives, else the only plan to the only task. `file`
/// is the plans' file, for messages. Throws Error if a plan is for no task, or two are for one.
[[nodiscard]] std::vector<MatchedPlan> match_plans(const std::vector<PlanRecord>& records,
                                                   const LoadedTasks& loaded,
                                                   const std::string& file);

}  // namespace neuroshard::tools
