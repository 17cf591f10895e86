#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/inputs/task_sets.h"
#include "neuroshard/planner.h"

namespace neuroshard::bench {

/// One algorithm on the tasks of a set; an algorithm that draws at random runs several times.
struct AlgorithmRuns {
  std::string name;
  /// [runs, tasks]; empty: no plan.
  std::vector<std::vector<std::optional<double>>> cost_ms;
  /// A task, mean over the runs; empty: was not run on it. The published search's are its own, from
  /// another machine.
  std::vector<std::optional<double>> search_ms;
};

/// The part of a plan's costs that is compared, ms. Nothing: what the models predict.
using TaskPrice = std::function<double(const Task& task, const Plan& plan)>;

struct QualityRuns {
  PlannerOptions options;
  int random_runs = 1;
  /// For algorithms that need one; those without are left out.
  std::vector<std::shared_ptr<const PlacementPolicy>> policies{};
  TaskPrice price{};
};

/// "neuroshard" first, then it without column splits and without the grid, the baselines, and
/// what the published search answered, if the set says. Throws Error if a plan is not valid.
[[nodiscard]] std::vector<AlgorithmRuns> run_algorithms(const CostModels& models,
                                                        const TaskSet& set,
                                                        const QualityRuns& quality);

struct QualityRow {
  std::string name;
  double success = 0.0;       ///< Share of the runs that gave a plan.
  double mean_cost_ms = 0.0;  ///< Mean of those; NaN if there are none.
  /// Geometric mean of cost / cost by `neuroshard`, over the runs in which both gave a plan.
  double relative_cost = 0.0;
  double mean_search_ms = 0.0;
};

/// `reference` has one run.
[[nodiscard]] QualityRow summarize(const AlgorithmRuns& algorithm, const AlgorithmRuns& reference);

}  // namespace neuroshard::bench
