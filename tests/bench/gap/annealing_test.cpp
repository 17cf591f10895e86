#include "bench/gap/annealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard::bench {
namespace {

using testing::repetitions;

TEST(Annealing, NeverReturnsADearerPlanAndKnowsItsCost) {
  int improved = 0;
  for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    const CostModels models = testing::random_models(seed);
    const CpuBackend backend(select_cpu_kernels("auto"), models, true);
    const Task task = testing::random_task(seed);
    PlannerOptions options;
    options.algorithm = Algorithm::kSizeGreedy;
    options.threads = 1;
    const PlanResult start = Planner(models, options).plan(task);
    if (!start.plan) continue;
    const AnnealingOptions annealing{.steps = 2000, .seed = seed};
    const AnnealingResult result = anneal(backend, task, *start.plan, annealing);
    const PlanCost cost = simulate(backend, task, result.plan);
    EXPECT_EQ(cost.cost_ms, result.cost_ms);
    EXPECT_TRUE(cost.fits_memory);
    EXPECT_LE(result.cost_ms, start.cost.cost_ms);
    improved += result.cost_ms < start.cost.cost_ms ? 1 : 0;
    EXPECT_EQ(anneal(backend, task, *start.plan, annealing).plan, result.plan);
  }
  EXPECT_GT(improved, 0);
}

TEST(Annealing, NoStepsReturnTheStart) {
  const CpuBackend backend(select_cpu_kernels("auto"), testing::golden_models(), true);
  const Task task = testing::golden_task("4gpu_dim32", 0);
  const PlanResult start = Planner(testing::golden_models()).plan(task);
  const AnnealingResult result = anneal(backend, task, *start.plan, {.steps = 0});
  EXPECT_EQ(result.plan, *start.plan);
  EXPECT_EQ(result.cost_ms, start.cost.cost_ms);
}

TEST(Annealing, TakesALargeStepDownFromABadPlan) {
  const CpuBackend backend(select_cpu_kernels("auto"), testing::golden_models(), true);
  Task task = testing::golden_task("4gpu_dim32", 0);
  task.memory_bytes *= 100;
  Plan plan;
  plan.slices = whole_tables(task);
  plan.shards.resize(4);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    plan.shards[0].push_back(static_cast<int>(t));
  }
  const PlanResult ours = Planner(testing::golden_models()).plan(task);
  const AnnealingResult result = anneal(backend, task, plan, {.steps = 20000});
  EXPECT_LE(result.cost_ms, ours.cost.cost_ms * 1.02);
  for (std::size_t i = 0; i < kMoves; ++i) {
    SCOPED_TRACE(name_of(static_cast<Move>(i)));
    EXPECT_GT(result.tried[i], result.accepted[i]);
    EXPECT_GT(result.accepted[i], 0);
  }
}

/// The cheapest of all plans of a task, tried one by one.
class Exhaustive {
 public:
  Exhaustive(const Backend& backend, const Task& task) : backend_(backend), task_(task) {}

  double cheapest_ms() {
    best_ms_ = std::numeric_limits<double>::infinity();
    plan_.shards.assign(static_cast<std::size_t>(task_.devices), {});
    place(0);
    return best_ms_;
  }

 private:
  // Slice `index` on every device, and halved; slices that come of halving come later.
  void place(std::size_t index) {
    const Plan plan = plan_from_halvings(task_, plan_);
    const std::vector<TableSlice>& slices = plan.slices;
    if (index == slices.size()) {
      const PlanCost cost = simulate(backend_, task_, plan);
      if (cost.fits_memory) best_ms_ = std::min(best_ms_, cost.cost_ms);
      return;
    }
    for (auto& shard : plan_.shards) {
      shard.push_back(static_cast<int>(index));
      place(index + 1);
      shard.pop_back();
    }
    if (!can_split_columns(slices[index].dim)) return;
    plan_.column_splits.push_back(static_cast<int>(index));
    place(index);
    plan_.column_splits.pop_back();
  }

  const Backend& backend_;
  const Task& task_;
  HalvedPlan plan_;
  double best_ms_ = 0.0;
};

TEST(Annealing, FindsTheCheapestPlanOfTinyTasks) {
  const CpuBackend backend(select_cpu_kernels("auto"), testing::golden_models(), true);
  int improved = 0;
  for (int first = 0; first < static_cast<int>(repetitions(10)); ++first) {
    SCOPED_TRACE(first);
    Task task{
        .tables = testing::golden_tables({7 * first, 7 * first + 1, 7 * first + 2}, {16, 8, 8}),
        .devices = 2,
        .memory_bytes = 0};
    for (const Table& table : task.tables) task.memory_bytes += table.size_bytes();
    const Plan start{.slices = whole_tables(task), .shards = {{0, 1, 2}, {}}};
    const double start_ms = simulate(backend, task, start).cost_ms;
    const double cheapest_ms = Exhaustive(backend, task).cheapest_ms();
    // Hot: of few slices each is a large part of the cost.
    const AnnealingResult result =
        anneal(backend, task, start, {.steps = 20000, .hottest = 0.5, .coldest = 1e-4});
    // Sums of a shard depend on the order of its slices in the last bits.
    EXPECT_NEAR(result.cost_ms, cheapest_ms, 1e-5 * cheapest_ms);
    improved += result.cost_ms < start_ms ? 1 : 0;
  }
  EXPECT_GT(improved, 0);
}

}  // namespace
}  // namespace neuroshard::bench
