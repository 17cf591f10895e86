#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/task.h"
#include "weights/collection/task_draws.h"

namespace neuroshard::bench {

/// Answer of the published search to a task, and how long it took.
struct PublishedRun {
  std::optional<double> cost_ms;  ///< Empty: it found no plan.
  double seconds = 0.0;           ///< On two cores.
};

/// Tasks that are measured together.
struct TaskSet {
  std::string name;
  std::vector<Task> tasks;
  /// One entry a task.
  std::vector<std::optional<PublishedRun>> published;

  [[nodiscard]] bool has_published() const;
};

/// A folder laid out like tests/data/golden: tables/table_configs.json, models/*.pt,
/// tasks/{D}gpu_NAME.txt and, for some of them, plans/{D}gpu_NAME.jsonl. Every function throws
/// Error naming the file.
class GoldenFolder {
 public:
  explicit GoldenFolder(std::filesystem::path folder);

  /// Names of all task files, by device count, then name.
  [[nodiscard]] std::vector<std::string> set_names() const;
  /// Names of the sets that the published search was run on.
  [[nodiscard]] std::vector<std::string> published_set_names() const;

  /// The first `max_tasks` tasks of a set, with 4 GiB a device as in the published experiments.
  /// `published_only`: only those that the published search was run on.
  [[nodiscard]] TaskSet load_set(const std::string& name, std::size_t max_tasks,
                                 bool published_only) const;

  /// So many tasks of `tables`, as published ones are drawn (TaskDrawOptions). Named as sets of
  /// files are, with "drawn".
  [[nodiscard]] TaskSet draw_set(const TaskDrawOptions& options, std::size_t tasks,
                                 double memory_gib) const;

  /// All tables; their dim is not set.
  [[nodiscard]] std::vector<Table> tables() const;
  /// The published checkpoints, of all device counts.
  [[nodiscard]] CostModels models() const;

 private:
  std::filesystem::path folder_;
};

/// A task in our JSON schema. `devices` and `memory_gib` above 0 take the place of what the file
/// says. Throws Error if neither says.
[[nodiscard]] Task load_whole_task(const std::filesystem::path& path, int devices = 0,
                                   double memory_gib = 0.0);

}  // namespace neuroshard::bench
