#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// Which tasks a command works on: one of our task files, or lines of a published task file.
struct TaskOptions {
  std::string task;    ///< Our format.
  std::string tables;  ///< Published: table_configs.json ...
  std::string tasks;   ///< ... and one task a line.
  std::optional<long long> index;
  std::optional<int> devices;
  std::optional<double> memory_gb;
};

void add_task_options(CLI::App& command, TaskOptions& options);

struct LoadedTasks {
  std::vector<Task> tasks;
  std::vector<int> indices;         ///< Line of each in its file, from 0.
  std::vector<std::string> titles;  ///< For people.
  std::vector<std::string> notes;   ///< What was assumed, e.g. access histograms.
};

/// At least one task, all valid. Throws Error if the options do not fit together, a file cannot be
/// used, or a task has numbers that cannot be.
[[nodiscard]] LoadedTasks load_tasks(const TaskOptions& options);

}  // namespace neuroshard::tools
