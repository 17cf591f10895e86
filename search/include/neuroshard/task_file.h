#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/hardware.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// Every function throws Error: kIo if the file cannot be read, kInvalidInput on anything that is
// not as described in docs/task_format.md, naming file, line or table, field and remedy.

/// A task as a file states it. Fields that the file leaves open are empty and up to the caller.
struct TaskFile {
  std::string where;                 ///< File, and line if there are several, for later messages.
  std::string name;                  ///< May be empty.
  std::vector<std::string> source;   ///< Source of the table sizes; may be empty.
  std::string notes;                 ///< Assumptions; may be empty.
  std::optional<Hardware> hardware;  ///< Hardware that built-in weights are to be for.
  std::vector<Table> tables;
  std::optional<int> devices;
  /// All devices, if the file lists them; `memory_bytes` is then for those that state none.
  std::vector<Device> device_list;
  std::optional<std::int64_t> memory_bytes;
  ReservedMemory reserved;
  std::int64_t batch_size = kDefaultBatchSize;
  std::optional<int> devices_per_node;
  std::optional<NodeLinks> links;
  ExchangeTypes exchange;
  Overlap overlap;
  HostMemory host;
  std::vector<TableGroup> groups;
  std::vector<int> derived_histograms;  ///< As in TableConfigs.
};

/// Devices in the place of a file's. A number of them takes the place of a list, too; memory is
/// then that of each device of a list, whose base loads stay.
struct OtherDevices {
  std::optional<int> devices{};
  std::optional<std::int64_t> memory_bytes{};
  /// Remedies if neither this nor the file says a number, or memory; for messages.
  std::string_view devices_remedy = "give a number";
  std::string_view memory_remedy = "give their memory";
};

/// Devices of a node: as many as the file says, else as its hardware has, else
/// kDefaultDevicesPerNode.
[[nodiscard]] int devices_per_node_of(const TaskFile& file);

/// The task that a file states, with 0 devices or bytes of memory where it says nothing of them.
[[nodiscard]] Task stated_task(TaskFile file);

/// The task that a file states, which validate() has still to look at. Throws Error if something is
/// missing.
[[nodiscard]] Task task_of(const TaskFile& file, const OtherDevices& other = {});

/// Note on so many tables whose histograms are derived: an assumption. Not empty.
[[nodiscard]] std::string derived_histograms_note(std::size_t tables);
/// Note on tables whose histograms cannot be theirs, by rows and pooling factor, so that costs are
/// doubtful. Empty if there are none.
[[nodiscard]] std::string doubtful_histograms_note(const std::vector<Table>& tables);
/// Note on a task that states its hardware, for those who choose cost models by themselves.
[[nodiscard]] std::string hardware_note(const Hardware& hardware);

/// A task in our JSON schema.
[[nodiscard]] TaskFile load_task(const std::filesystem::path& path);
[[nodiscard]] TaskFile parse_task(std::string_view json, const std::string& where);

/// The published system's task file: a task a line, "id,id,... dim,dim,...", ids counting from 0 in
/// `configs`. Blank lines do not count. The tables are named after their ids, "id 17".
[[nodiscard]] std::vector<TaskFile> load_task_lines(const std::filesystem::path& path,
                                                    const TableConfigs& configs);

/// Result of one line: a line that is no valid task has an error and does not cost the others.
struct TaskLine {
  TaskFile task;               ///< The task, without tables if there is an error.
  std::optional<Error> error;  ///< The error that load_task_lines would have thrown.
};
[[nodiscard]] std::vector<TaskLine> load_each_task_line(const std::filesystem::path& path,
                                                        const TableConfigs& configs);
[[nodiscard]] std::vector<TaskLine> parse_each_task_line(std::string_view text,
                                                         const std::string& where,
                                                         const TableConfigs& configs);
[[nodiscard]] std::vector<TaskFile> parse_task_lines(std::string_view text,
                                                     const std::string& where,
                                                     const TableConfigs& configs);

}  // namespace neuroshard
#pragma GCC visibility pop
