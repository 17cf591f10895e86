#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/hardware.h"
#include "neuroshard/placement_policy.h"
#include "neuroshard/task.h"

namespace neuroshard::training {

struct PolicyProgress {
  int iteration = 0;     ///< That has ended; 0: before the first one.
  double cost_ms = 0.0;  ///< Mean over tasks of tables that are not trained on.
};

struct PolicyTrainingOptions {
  std::string algorithm;  ///< "dreamshard" or "autoshard".
  Hardware hardware;      ///< Its analytic costs are those of plans, unless `models` are given.
  std::optional<CostModels> models{};  ///< Predict the costs of plans.
  int iterations = 50;
  std::uint64_t seed = 0;
  std::function<void(const PolicyProgress&)> on_iteration{};
  /// Asked after each iteration.
  std::function<bool()> should_stop{};
  /// Is given the state after each iteration; `resume_from` is one of them, or empty.
  std::function<void(const std::string&)> on_state{};
  std::string resume_from{};
  std::string resume_name{};  ///< For messages.
};

struct TrainedPolicy {
  PlacementPolicy policy;       ///< That of the iteration of the lowest cost.
  std::vector<double> cost_ms;  ///< [iterations + 1], as PolicyProgress has it.
  int best_iteration = 0;
};

/// Trains a policy on tasks of one half of `tables`, and compares iterations by tasks of the other
/// half. DreamShard wants plans of low cost, AutoShard a slowest device of low compute cost. Equal
/// options give equal policies, wherever a run was resumed. Throws Error if an option or the state
/// is wrong, or if there are fewer than 40 tables.
[[nodiscard]] TrainedPolicy train_policy(std::span<const Table> tables,
                                         const PolicyTrainingOptions& options);

}  // namespace neuroshard::training
