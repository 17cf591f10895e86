// Tables in row blocks, on all devices and on nodes, and replicas, by weights that have prices of
// these kinds of sharding.
#include <gtest/gtest.h>

#include <algorithm>

#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::expect_good;
using testing::expect_no_dearer;
using testing::make_unequal;
using testing::plain_table;
using testing::random_task;

/// Built-in weights with prices of kinds, so many milliseconds for each shard.
CostModels with_prices(double row_ms, double table_row_ms, double replica_ms) {
  CostModels models = builtin_weights();
  models.kind_prices = {{ShardingKind::kRow, {{row_ms}}},
                        {ShardingKind::kTableRow, {{table_row_ms}}},
                        {ShardingKind::kReplicate, {{replica_ms}}}};
  return models;
}

std::size_t tables_of_kind(const Task& task, const Plan& plan, ShardingKind kind) {
  return static_cast<std::size_t>(std::ranges::count_if(
      sharding_kinds(task, plan),
      [&](const auto& kinds) { return std::ranges::find(kinds, kind) != kinds.end(); }));
}

/// Tables on two nodes, of which none is worth an all-reduce.
Task two_nodes() {
  Task task{.devices = 16, .memory_bytes = std::int64_t{1} << 33};
  for (int i = 0; i < 12; ++i) task.tables.push_back(plain_table(3'000'000 + i, 64, 4.0 + i));
  return task;
}

TEST(KindPrices, ChoosesByThePricesOfKinds) {
  const Task task = two_nodes();
  constexpr double kCheap = 1e-3;
  constexpr double kDear = 1e3;
  const auto plan_with = [&](const CostModels& models) {
    const Planner planner(models, {.effort = Effort::kFast, .threads = 1});
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    return result;
  };
  const PlanResult row = plan_with(with_prices(kCheap, kDear, kDear));
  EXPECT_EQ(tables_of_kind(task, *row.plan, ShardingKind::kRow), 12U);
  const PlanResult nodes = plan_with(with_prices(kDear, kCheap, kDear));
  EXPECT_EQ(tables_of_kind(task, *nodes.plan, ShardingKind::kGrid), 12U);
  // Six on each node cost as much as twelve in grids would on both.
  EXPECT_EQ(tables_of_kind(task, *nodes.plan, ShardingKind::kTableRow), 12U);
  for (const std::vector<int>& shard : nodes.plan->shards) EXPECT_EQ(shard.size(), 6U);
  const PlanResult neither = plan_with(with_prices(kDear, kDear, kDear));
  EXPECT_FALSE(has_row_blocks(task, *neither.plan));
  EXPECT_TRUE(neither.plan->replicas.empty());
}

TEST(KindPrices, EvensNodesOutByGrids) {
  Task task = two_nodes();
  task.tables.resize(1);
  CostModels models = with_prices(1e3, 0.0, 1e3);
  models.kind_prices[ShardingKind::kTableRow].ms = {1e-3, 0.0, 0.1, 0.0, 0.0};
  const Planner planner(models, {.effort = Effort::kFast, .equal_widths = true, .threads = 1});
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_EQ(tables_of_kind(task, *result.plan, ShardingKind::kGrid), 1U);
  EXPECT_EQ(result.plan->slices.size(), 16U);
  for (const TableSlice& slice : result.plan->slices) EXPECT_EQ(slice.dim, 32);
  // Rules without grids leave it on one node.
  task.tables[0].rules.kinds = {ShardingKind::kTable, ShardingKind::kTableRow};
  const PlanResult whole = planner.plan(task);
  expect_good(planner, task, whole);
  EXPECT_EQ(tables_of_kind(task, *whole.plan, ShardingKind::kTableRow), 1U);
}

TEST(KindPrices, WithPricesIsNeverDearerThanColumns) {
  std::size_t in_blocks = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    Task task = random_task(seed);
    task.devices_per_node = 1 + static_cast<int>(seed % 4);
    if (seed % 3 == 0) make_unequal(task);
    const CostModels models = with_prices(0.02, 0.01, 0.01);
    const PlanResult any = expect_no_dearer(
        Planner(models, {.effort = Effort::kFast, .threads = 1}),
        Planner(models, {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = 1}), task);
    if (any.plan) in_blocks += tables_of_kind(task, *any.plan, ShardingKind::kTableRow);
  }
  EXPECT_GT(in_blocks, 0U);
}

}  // namespace
}  // namespace neuroshard
