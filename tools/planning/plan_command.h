#pragma once

#include <optional>
#include <string>

#include "neuroshard/plan_request.h"
#include "neuroshard/planner.h"
#include "tools/console/console.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"

namespace neuroshard::tools {

/// Options of `neuroshard plan`.
struct PlanCommand {
  TaskOptions tasks;
  ModelOptions models;
  SearchChoice search;
  std::optional<double> deadline_ms;
  std::optional<int> alternatives;
  std::string format = "table";
  std::string output;
  std::string svg;
  std::string report;
  std::string beside;
  bool list_shards = false;
  bool resume = false;
  bool bound = false;
};

/// The deadline counts from now.
[[nodiscard]] PlanRequest request_of(const PlanCommand& command);

// How plans are made and written, each returning the exit code: of many tasks, a line or a row
// each; the same as JSON lines that outlive an interrupt; of one task on different devices.
int plan_many(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
              const Planner& planner, const std::string& weights, Console& console);
int plan_resumably(const PlanCommand& command, const LoadedTasks& loaded, const Planner& planner,
                   Console& console);
int plan_what_ifs(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
                  const LoadedModels& models, const Planner& planner, Console& console);

}  // namespace neuroshard::tools
