#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neuroshard/error.h"
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
  std::vector<std::optional<Error>> errors;  ///< Of each task: why it is none. Then it is empty.
  std::vector<int> indices;                  ///< Line of each in its file, from 0.
  std::vector<std::string> titles;           ///< For people.
  std::vector<std::string> notes;            ///< What was assumed, e.g. access histograms.
};

/// At least one valid task. Throws Error if the options do not fit together, a file cannot be used,
/// or no task is valid.
[[nodiscard]] LoadedTasks load_tasks(const TaskOptions& options);

}  // namespace neuroshard::tools
