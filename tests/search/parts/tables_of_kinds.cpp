#include "search/parts/tables_of_kinds.h"

#include <gmock/gmock.h>

#include <utility>

#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"

namespace neuroshard::testing {

using ::testing::IsEmpty;

Table table_of(std::int64_t rows, int dim, double pooling_factor, Kinds kinds) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  table.access_histogram[1] = 1.0;
  table.rules.kinds = std::move(kinds);
  return table;
}

Planner planner_of(Effort effort, std::optional<Cuts> cuts, int threads) {
  return Planner(builtin_weights(), {.effort = effort, .cuts = cuts, .threads = threads});
}

Table random_table_of_kinds(Random& random, Kinds kinds) {
  Table table = table_of(1 + static_cast<std::int64_t>(random.below(100'000)), 4 << random.below(5),
                         1.0 + static_cast<double>(random.below(20)), std::move(kinds));
  if (random.below(5) == 0) table.rows = 1 + static_cast<std::int64_t>(random.below(6));
  return table;
}

Task random_task_with_kinds(std::uint64_t seed) {
  Random random(seed, 41);
  Task task;
  task.devices = 1 + static_cast<int>(random.below(8));
  task.devices_per_node = 2 + static_cast<int>(random.below(5));
  task.memory_bytes = kAmple;
  const std::size_t tables = 1 + random.below(5);
  for (std::size_t t = 0; t < tables; ++t) {
    Kinds kinds;
    for (const ShardingKind kind : all_sharding_kinds()) {
      if (random.below(4) == 0) kinds.push_back(kind);
    }
    task.tables.push_back(random_table_of_kinds(random, std::move(kinds)));
  }
  return task;
}

void expect_good(const Planner& planner, const Task& task, const PlanResult& result) {
  ASSERT_TRUE(result.plan) << (result.infeasible ? result.infeasible->message : "");
  EXPECT_FALSE(result.infeasible);
  for (const PlanProblem& problem : check_plan(*result.plan, task)) {
    ADD_FAILURE() << problem.message();
  }
  EXPECT_EQ(result.cost.cost_ms, planner.simulate(task, *result.plan).cost_ms);
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_THAT(check_plan(other.plan, task), IsEmpty());
    EXPECT_GE(other.cost.cost_ms,
              0.998 * result.cost.cost_ms);  // Of about equal ones, fewest slices.
  }
}

}  // namespace neuroshard::testing
