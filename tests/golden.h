#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/column_halvings.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

/// The published system's outputs under tests/data/golden; see the README there.
[[nodiscard]] std::string golden_path(const std::string& name);

/// All published checkpoints: the compute model and communication models for 2, 4, 8, 16 devices.
[[nodiscard]] const CostModels& golden_models();

/// The 856 tables; their dim is not set.
[[nodiscard]] const std::vector<Table>& golden_tables();

/// Tables by id, each with its dim.
[[nodiscard]] std::vector<Table> golden_tables(const std::vector<int>& ids,
                                               const std::vector<int>& dims);

/// Task `index` of a set such as "4gpu_dim128", with 4 GiB a device.
[[nodiscard]] Task golden_task(const std::string& set, int index);

/// Answer of the published search.
struct GoldenPlan {
  int task = 0;
  std::optional<HalvedPlan> plan;
  double cost_ms = 0.0;
  double seconds = 0.0;
};
[[nodiscard]] std::vector<GoldenPlan> golden_plans(const std::string& set);
[[nodiscard]] const std::vector<std::string>& golden_sets();

[[nodiscard]] nlohmann::json golden_scores();

}  // namespace neuroshard::testing
