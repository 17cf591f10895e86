#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/hardware.h"
#include "neuroshard/task.h"
#include "tools/options/memory_options.h"

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
  std::vector<int> devices;       ///< Empty: what the file says. Several: what-ifs.
  std::vector<double> memory_gb;  ///< Empty: what the file says. Several: what-ifs.
  /// If neither these nor the file say any. Not options of the command line.
  std::optional<int> devices_if_missing;
  std::optional<std::int64_t> memory_bytes_if_missing;
  std::optional<int> devices_per_node;
  NodeLinks links;                       ///< Fields that they state take the place of the task's.
  std::vector<std::string> levels;       ///< Levels of links, "576:12.5", ..., likewise.
  std::vector<std::string> exchange;     ///< "forward=fp16", ..., likewise.
  std::vector<std::string> overlap;      ///< "ids", "dense_ms=3", ..., likewise.
  std::vector<std::string> host_memory;  ///< "gb=300", ..., likewise. Several sizes: what-ifs.
  bool lists = false;  ///< The command takes several of these. Not an option of the command line.
  MemoryOptions memory;

  [[nodiscard]] bool asks_what_if() const;
};

enum class DeviceLists { kNo, kYes };
/// `lists`: whether --devices, --memory-gb and sizes of --host-memory take several values.
void add_task_options(CLI::App& command, TaskOptions& options,
                      DeviceLists lists = DeviceLists::kNo);

struct LoadedTasks {
  std::vector<Task> tasks;
  std::vector<std::optional<Error>> errors;  ///< Why each is no task. Then it is empty.
  std::vector<int> indices;                  ///< Line of each in its file, from 0.
  std::vector<std::string> titles;           ///< For people.
  std::vector<std::string> where;            ///< File of each, and line; for messages.
  bool batch_is_option = false;              ///< Batch sizes are what --batch-size says.
  std::optional<Hardware> hardware;          ///< Value of --hardware, else of the task file.
  std::vector<std::string> notes;            ///< Assumptions made, e.g. access histograms.
  double read_ms = 0.0;                      ///< Time to read all of them.

  /// Hardware of analytic prices.
  [[nodiscard]] Hardware machine() const {
    return hardware.value_or(hardware_named(kDefaultHardware));
  }
};

/// `hardware`: the option --hardware; empty: what the task file says. Tasks that do not say how
/// many devices share a node have as many as the hardware.
///
/// At least one valid task. Throws Error if the options do not fit together, a file cannot be used,
/// or no task is valid. What-ifs have the first of several devices and sizes of memory, and the
/// largest host memory. They are not validated: other numbers may be valid.
[[nodiscard]] LoadedTasks load_tasks(const TaskOptions& options, const std::string& hardware = {});

/// Throws Error naming `command` unless there is one task.
[[nodiscard]] const Task& only_task(const LoadedTasks& loaded, const std::string& command);

/// Bytes of --memory-gb. Throws Error naming the option.
[[nodiscard]] std::int64_t memory_of_option(double gib);

}  // namespace neuroshard::tools
