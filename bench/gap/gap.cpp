#include "bench/gap/gap.h"

#include <algorithm>

#include "neuroshard/error.h"
#include "neuroshard/simulator.h"

namespace neuroshard::bench {
namespace {

GapPlan checked(const CpuBackend& backend, const GapCase& gap_case, const Plan& plan,
                const char* who, Elapsed time) {
  const PlanCost cost = simulate(backend, gap_case.task, plan);
  if (!cost.fits_memory) {
    throw Error(gap_case.name + ": the plan of " + who + " exceeds memory", ErrorKind::kBackend);
  }
  return {.cost_ms = cost.cost_ms,
          .time = time,
          .slices = static_cast<int>(plan.slices.size()),
          .empty_devices = static_cast<int>(
              std::ranges::count_if(plan.shards, [](const auto& shard) { return shard.empty(); }))};
}

}  // namespace

GapResult measure_gap(const CpuBackend& backend, const Planner& planner, const Planner& uniform,
                      const GapCase& gap_case, const AnnealingOptions& annealing) {
  const Task& task = gap_case.task;
  GapResult result{.name = gap_case.name,
                   .devices = task.devices,
                   .tables = static_cast<int>(task.tables.size()),
                   .ours = std::nullopt,
                   .uniform = std::nullopt,
                   .annealed = std::nullopt,
                   .annealing = {},
                   .stages = {}};
  const Stopwatch our_time;
  const PlanResult ours = planner.plan(task);
  if (ours.plan) {
    result.ours = checked(backend, gap_case, *ours.plan, "the planner", our_time.elapsed());
  }
  const Stopwatch uniform_time;
  const PlanResult even = uniform.plan(task);
  if (even.plan) {
    result.uniform = checked(backend, gap_case, *even.plan, "uniform", uniform_time.elapsed());
  }
  if (annealing.steps == 0 || (!ours.plan && !even.plan)) return result;

  const bool from_ours =
      ours.plan && (!even.plan || result.ours->cost_ms <= result.uniform->cost_ms);
  const Stopwatch annealing_time;
  result.annealing = anneal(backend, task, from_ours ? *ours.plan : *even.plan, annealing);
  result.annealed =
      checked(backend, gap_case, result.annealing.plan, "annealing", annealing_time.elapsed());
  if (result.annealed->cost_ms != result.annealing.cost_ms) {
    throw Error(gap_case.name + ": annealing and simulate() disagree on the cost of a plan",
                ErrorKind::kBackend);
  }
  return result;
}

StageCosts find_stage_costs(const Planner& planner, const Task& task) {
  StageCosts costs;
  PlanRequest request;
  request.on_improvement = [&](const Improvement& better) {
    costs[better.stage] = better.cost.cost_ms;
  };
  (void)planner.plan(task, request);
  return costs;
}

}  // namespace neuroshard::bench
