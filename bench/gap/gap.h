#pragma once

#include <map>
#include <optional>
#include <string>

#include "bench/gap/annealing.h"
#include "bench/inputs/gap_cases.h"
#include "bench/stopwatch.h"
#include "core/placement/cpu_backend.h"
#include "neuroshard/planner.h"

namespace neuroshard::bench {

/// A plan as the report shows it.
struct GapPlan {
  double cost_ms = 0.0;
  Elapsed time;
  int slices = 0;
  int empty_devices = 0;
};

/// Cost of the best plan after each stage of the search that improved it.
using StageCosts = std::map<SearchStage, double>;

/// What came of a case; empty: no plan, or not asked for.
struct GapResult {
  std::string name;
  int devices = 0;
  int tables = 0;
  std::optional<GapPlan> ours;
  std::optional<GapPlan> uniform;
  std::optional<GapPlan> annealed;  ///< From the better of the two.
  AnnealingResult annealing;        ///< Its moves.
  StageCosts stages;                ///< From find_stage_costs(), if asked for.
};

/// Plans `gap_case` by `planner` and by `uniform`, and anneals the better plan for
/// `annealing.steps` steps, if that is more than 0. Every cost is that of simulate(). Throws Error
/// if a plan is not valid or exceeds memory, or if the annealed plan does not cost what annealing
/// says.
[[nodiscard]] GapResult measure_gap(const CpuBackend& backend, const Planner& planner,
                                    const Planner& uniform, const GapCase& gap_case,
                                    const AnnealingOptions& annealing);

/// Plans `task` and looks on. Empty if there is no plan.
[[nodiscard]] StageCosts find_stage_costs(const Planner& planner, const Task& task);

}  // namespace neuroshard::bench
