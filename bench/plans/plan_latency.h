#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/inputs/task_sets.h"
#include "bench/stopwatch.h"
#include "neuroshard/planner.h"

namespace neuroshard::bench {

/// Names of searches for PlanConfig, the one by default first.
[[nodiscard]] std::vector<std::string> all_searches();

/// One way of planning a set of tasks.
struct PlanConfig {
  std::string backend;
  int threads = 1;  ///< Threads of one plan, or of one batch.
  bool reuse_work = true;
  /// An effort; "published"; or "as_published": the same without memory splits, which may find no
  /// plan.
  std::string search = "default";
  int concurrency = 1;    ///< Callers that plan at the same time.
  std::size_t batch = 0;  ///< Tasks handed over in one call; 0: one by one.

  [[nodiscard]] std::string name() const;  ///< "avx2, 1 thread", "avx2, 1 thread, no reuse"
  [[nodiscard]] std::string path() const;  ///< "backend:avx2/threads:1"
};

/// One pass over a set of tasks.
struct PlanRound {
  std::vector<double> wall_ms;  ///< A task; empty for batches.
  std::vector<double> cpu_ms;   ///< A task; empty unless there is one caller.
  Elapsed total;
  std::size_t plans = 0;
};

[[nodiscard]] PlanRound plan_round(const Planner& planner, const PlanConfig& config,
                                   std::span<const Task> tasks);

struct PlanTimes {
  PlanConfig config;
  std::vector<PlanRound> rounds;
  std::size_t planned = 0;  ///< Tasks that got a plan.
};

struct PlanMeasurement {
  int rounds = 5;
  int checked_by_scalar = 1;  ///< Tasks of a set that the scalar backend plans too.
  SearchOptions search;
};

/// Times every config on `set`. First checks, which is also the warm-up. All configs with memory
/// splits give the same plans to the last bit, on the first tasks those of the scalar backend
/// without reuse of work, and no plan costs more than the published one. All configs without memory
/// splits give the same plans, too, and none exactly where the published search found none. Then
/// `rounds` passes, one config after the other in each, so that a disturbance of the machine hits
/// all alike. Throws Error if a check fails.
[[nodiscard]] std::vector<PlanTimes> measure_plans(const CostModels& models,
                                                   std::span<const PlanConfig> configs,
                                                   const TaskSet& set,
                                                   const PlanMeasurement& options);

}  // namespace neuroshard::bench
