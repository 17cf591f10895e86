#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/plan_file.h"
#include "tools/measuring/measure_command.h"

namespace neuroshard::tools {

/// A task whose plans are measured, in batches that devices can share out evenly.
struct MeasuredTask {
  Task task;
  std::int64_t priced_batch = 0;  ///< Before what devices cannot share out evenly is left out.
  std::string batch_source;       ///< For messages: which option or file says it.
  std::vector<Table> drawn;       ///< The tables, with access histograms of the batch.
  std::unique_ptr<StreamStore> streams;
  bool added_up = false;  ///< The task hides something, and `task` does not.
};

struct PlanToMeasure {
  std::size_t task = 0;      ///< Position in LoadedTasks.
  std::string where;         ///< File, and line if there are several.
  std::optional<Plan> plan;  ///< Empty: the file says that there is none.
  PlanCost predicted{};
};

/// What `measure` reads. Ranks of one process share it.
struct MeasureInputs {
  LoadedTasks loaded;
  std::vector<MeasuredTask> tasks;  ///< By position; those of which there is no plan are empty.
  std::vector<PlanToMeasure> plans;
  int devices = 0;      ///< Of all plans.
  std::string weights;  ///< Where the cost models come from.
  std::vector<std::string> notes;
  std::int64_t batch = 0;  ///< The largest of all tasks.
};

/// In one of `processes` on this machine that do so, each of which keeps lookups in its part of the
/// memory. Throws Error if options do not go together, a file cannot be used, or a plan cannot be
/// measured.
[[nodiscard]] MeasureInputs load_measure_inputs(const MeasureCommand& command, int processes);

}  // namespace neuroshard::tools
