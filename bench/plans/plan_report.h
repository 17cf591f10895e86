#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/json_report.h"
#include "bench/plans/plan_latency.h"

namespace neuroshard::bench {

/// Figures of one config on one or more task sets.
struct PlanSummary {
  PlanConfig config;
  std::vector<double> wall_ms;  ///< A task: median over the rounds. Empty for batches.
  std::vector<double> cpu_ms;   ///< A task: median, too; empty unless there is one caller.
  std::size_t tasks = 0;
  std::size_t planned = 0;  ///< Tasks that got a plan.
  double plans_per_second = 0.0;
  double cpu_ms_per_plan = 0.0;
  double spread = 0.0;  ///< Spread of the rounds' total times; of several sets, the largest.
  /// Published seconds over ours, one for each task that the published search was run on; empty if
  /// there is none. By our wall time, the same where it found a plan, and by our CPU time.
  std::vector<double> speedups;
  std::vector<double> speedups_with_plan;
  std::vector<double> cpu_speedups;
};

[[nodiscard]] PlanSummary summarize(const PlanTimes& times, const TaskSet& set);

/// The tasks of several sets together: element `i` of each row is the same config.
[[nodiscard]] std::vector<PlanSummary> combined(const std::vector<std::vector<PlanSummary>>& sets);

/// One row a config. Speed-ups are geometric means over the tasks.
[[nodiscard]] std::string plan_table(std::span<const PlanSummary> summaries);

void add_to_report(JsonReport& report, const PlanTimes& times, const PlanSummary& summary,
                   const TaskSet& set);

}  // namespace neuroshard::bench
