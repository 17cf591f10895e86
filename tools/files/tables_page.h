#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan_file.h"
#include "neuroshard/task_file.h"

namespace neuroshard::tools {

// Pages of `neuroshard inspect` for task files, table files and plan files. `name` is the file's.

[[nodiscard]] std::string task_page(const TaskFile& task, const std::string& name);
[[nodiscard]] std::string table_configs_page(const TableConfigs& configs, const std::string& name);
[[nodiscard]] std::string plans_page(const std::vector<PlanRecord>& plans, const std::string& name);

}  // namespace neuroshard::tools
