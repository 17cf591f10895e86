#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"

namespace neuroshard {

/// Computes by the analytic models what `simulate` predicts with cost models. It is the judge of
/// plans that were made with models trained on analytic costs. An empty device computes for 0 ms.
/// Throws Error if the plan does not place every row and column of every table exactly once. `gpu`
/// is what a device of speed 1 is.
[[nodiscard]] PlanCost analytic_plan_cost(const GpuSpec& gpu, const NetworkSpec& network,
                                          const Task& task, const Plan& plan);

/// Prices the plan with a GPU for each device, [devices], in the place of speeds.
[[nodiscard]] PlanCost analytic_plan_cost(std::span<const GpuSpec> gpus, const NetworkSpec& network,
                                          const Task& task, const Plan& plan);

/// Text that stands, for a plan that is priced so, in the place of where its weights come from.
[[nodiscard]] std::string analytic_origin(const GpuSpec& gpu, const NetworkSpec& network);

}  // namespace neuroshard
