// Plans with tables on every device and row-wise, as the planner finds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"

namespace neuroshard {
namespace {

using ::testing::Contains;
using testing::drawn_tasks;
using testing::expect_good;
using testing::expect_no_dearer;
using testing::make_unequal;
using testing::plain_table;
using testing::planner_of;
using testing::random_task;
using testing::random_task_of_all_kinds;

/// Large tables, and small ones that are cheaper on every device.
Task large_and_small(int devices) {
  Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 32};
  for (int i = 0; i < 10; ++i) {
    task.tables.push_back(plain_table(1'000'000 + i, 64, 2.0));
    task.tables.push_back(plain_table(50 + i, 128, 4.0));
  }
  return task;
}

TEST(AnyCuts, ReplicatesSmallTablesAndNoLargeOnes) {
  for (const int devices : {2, 8, 32}) {
    SCOPED_TRACE(devices);
    const Task task = large_and_small(devices);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    EXPECT_LT(result.cost.cost_ms, 0.95 * by_columns.cost.cost_ms);
    ASSERT_FALSE(result.plan->replicas.empty());
    for (const int table : result.plan->replicas) EXPECT_EQ(table % 2, 1) << table;
    EXPECT_EQ(result.stats.backend, planner.backend());
    EXPECT_GT(result.stats.search_ms, 0.0);
    EXPECT_GT(result.stats.edits, 0U);
  }
}

// Only the last of them saves anything: the latencies of the all-to-alls.
TEST(AnyCuts, ReplicatesAllTablesThoughNoneIsWorthIt) {
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    Task task{.devices = 64, .memory_bytes = std::int64_t{1} << 32};
    for (int i = 0; i < 20; ++i) {
      task.tables.push_back(plain_table(100 + 1'000 * i, 8 << i % 3, 1.0 + 0.1 * i));
    }
    const Planner planner = planner_of(effort);
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    EXPECT_EQ(result.plan->replicas.size(), task.tables.size());
    task.tables.back().rules.kinds = {ShardingKind::kTable};
    const PlanResult others = planner.plan(task);
    expect_good(planner, task, others);
    EXPECT_GT(others.cost.cost_ms, 1.5 * result.cost.cost_ms);
  }
}

/// Narrow tables with many lookups, whose ids each slice is sent.
Task many_lookups(int devices) {
  Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 36};
  for (int i = 0; i < 25; ++i) {
    task.tables.push_back(plain_table(1'000'000 + 800'000 * i, 4 << i % 3, 10.0 + 7.0 * i));
  }
  return task;
}

TEST(AnyCuts, CutsRowsOverNodesWhereThatIsCheaper) {
  for (const int devices : {24, 48}) {
    SCOPED_TRACE(devices);
    Task task = many_lookups(devices);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    Task forced = task;
    for (Table& table : forced.tables) table.rules.kinds = {ShardingKind::kTableRow};
    EXPECT_LE(result.cost.cost_ms, 1.05 * planner.plan(forced).cost.cost_ms);
    const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    EXPECT_LT(result.cost.cost_ms, 0.9 * by_columns.cost.cost_ms);
    const auto on_a_node = [&](const TableSlice& slice) {
      const std::int64_t rows = task.tables[static_cast<std::size_t>(slice.table)].rows;
      return slice.first_row == 0 && slice.rows == (rows + 7) / 8;
    };
    EXPECT_TRUE(std::ranges::any_of(result.plan->slices, on_a_node));
    // Rules are kept, also on devices that differ and with slices of equal widths.
    for (std::size_t t = 0; t < task.tables.size(); t += 2) {
      task.tables[t].rules.kinds = {ShardingKind::kColumn, ShardingKind::kRow};
    }
    expect_good(planner, task, planner.plan(task));
    make_unequal(task);
    for (const Cuts cuts : {Cuts::kAny, Cuts::kTorchrec}) {
      const Planner of_cuts = planner_of(Effort::kFast, cuts);
      expect_good(of_cuts, task, of_cuts.plan(task));
    }
  }
}

TEST(AnyCuts, ReplicatesSmallTablesOnUnequalDevices) {
  for (const int devices : {2, 8, 32}) {
    SCOPED_TRACE(devices);
    Task task = large_and_small(devices);
    make_unequal(task);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    EXPECT_LT(result.cost.cost_ms, 0.95 * by_columns.cost.cost_ms);
    ASSERT_FALSE(result.plan->replicas.empty());
    for (const int table : result.plan->replicas) EXPECT_EQ(table % 2, 1) << table;
  }
}

// Replicas fit into the smallest device.
TEST(AnyCuts, KeepsToTheMemoryOfEachDevice) {
  Task task = large_and_small(8);
  make_unequal(task);
  const Planner planner = planner_of(Effort::kFast);
  const auto replicated_bytes = [&](const PlanResult& result) {
    std::int64_t bytes = 0;
    for (const int table : result.plan->replicas) {
      bytes += task.tables[static_cast<std::size_t>(table)].size_bytes();
    }
    return bytes;
  };
  const PlanResult with_room = planner.plan(task);
  expect_good(planner, task, with_room);
  const std::int64_t room = replicated_bytes(with_room) - 1;
  ASSERT_GT(room, 0);
  task.device_list[3].memory_bytes = room;
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_LT(result.plan->replicas.size(), with_room.plan->replicas.size());
  EXPECT_LE(replicated_bytes(result), room);
}

TEST(AnyCuts, IsNeverDearerThanColumns) {
  int replicated = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    Task task = random_task(seed);
    // There, effort fast plans the whole task only where it is close to the best for equal devices.
    const Effort effort = seed % 3 == 0 ? Effort::kDefault : Effort::kFast;
    if (seed % 3 == 0) make_unequal(task);
    const PlanResult any =
        expect_no_dearer(planner_of(effort), planner_of(effort, Cuts::kColumns), task);
    replicated += !any.plan || any.plan->replicas.empty() ? 0 : 1;
  }
  EXPECT_GT(replicated, 0);
}

// One device is best left alone, which plans for 64 as slow as it do not.
TEST(AnyCuts, IsNoDearerThanHeuristicsBesideOneSlowDevice) {
  Task task{.devices = 64, .memory_bytes = std::int64_t{1} << 32};
  constexpr std::array kDims = {32, 192, 20, 256, 64, 36, 128, 4};
  constexpr std::array kPoolingFactors = {1.0, 50.0, 200.0};
  double rows = 200.0;
  for (std::size_t i = 0; i < 60; ++i, rows *= 1.15) {
    task.tables.push_back(plain_table(static_cast<std::int64_t>(rows), kDims[(3 * i + i / 8) % 8],
                                      kPoolingFactors[i * 7 / 3 % 3]));
  }
  task.device_list.assign(64, {.memory_bytes = task.memory_bytes});
  task.device_list.back().speed = 0.1;
  task.device_list.back().base_ms = 3.0;
  for (const Cuts cuts : {Cuts::kColumns, Cuts::kAny}) {
    SCOPED_TRACE(static_cast<int>(cuts));
    const PlanResult fast = planner_of(Effort::kFast, cuts).plan(task);
    for (const Algorithm heuristic :
         {Algorithm::kUniform, Algorithm::kDimGreedy, Algorithm::kSizeLookupGreedy}) {
      const Planner planner(builtin_weights(), {.algorithm = heuristic, .threads = 1});
      EXPECT_LE(fast.cost.cost_ms, planner.plan(task).cost.cost_ms);
    }
    EXPECT_LE(planner_of(Effort::kDefault, cuts).plan(task).cost.cost_ms, fast.cost.cost_ms);
  }
}

TEST(AnyCuts, MoreEffortIsNeverDearer) {
  for (const int devices : {4, 16}) {
    const Task task = large_and_small(devices);
    EXPECT_LE(planner_of(Effort::kDefault).plan(task).cost.cost_ms,
              planner_of(Effort::kFast).plan(task).cost.cost_ms);
  }
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    Task task = seed % 2 == 0 ? random_task(seed) : random_task_of_all_kinds(seed);
    if (seed % 2 == 0) make_unequal(task);
    const PlanResult fast = planner_of(Effort::kFast).plan(task);
    const PlanResult longer = planner_of(Effort::kDefault).plan(task);
    ASSERT_EQ(fast.plan.has_value(), longer.plan.has_value());
    if (fast.plan) {
      EXPECT_LE(longer.cost.cost_ms, fast.cost.cost_ms);
    }
  }
}

TEST(AnyCuts, OfABatchAreThoseOfSinglePlans) {
  std::vector<Task> tasks = {large_and_small(4), random_task(3), random_task(4),
                             large_and_small(9)};
  tasks[2].batch_size = 8192;
  tasks.push_back(tasks[0]);
  tasks.back().batch_size = 77;
  const Planner planner(builtin_weights(), {.threads = 2});
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
  for (std::size_t i = 0; i + 1 < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(outcomes[i]);
    const PlanResult alone = planner.plan(tasks[i]);
    EXPECT_EQ(outcomes[i]->plan, alone.plan);
    EXPECT_EQ(outcomes[i]->cost.cost_ms, alone.cost.cost_ms);
    EXPECT_EQ(outcomes[i]->cost.warning, alone.cost.warning);
  }
  EXPECT_FALSE(outcomes.back());
}

// An operator looks up all of its tables with the threads of its widest shard.
TEST(AnyCuts, CutsWideTablesFinelyBesideManyLookups) {
  for (const int devices : {2, 4}) {
    SCOPED_TRACE(devices);
    Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 36};
    task.tables = {plain_table(2'000'000, 32, 100.0 * devices), plain_table(6'000'000, 512, 0.1)};
    Plan narrow;
    narrow.shards.resize(static_cast<std::size_t>(devices));
    const std::int64_t rows = task.tables[0].rows / devices;
    for (int d = 0; d < devices; ++d) {
      narrow.add({0, 0, 32, d * rows, rows}, static_cast<std::size_t>(d));
    }
    for (int slice = 0; slice < 16; ++slice) {
      narrow.add({1, 32 * slice, 32, 0, task.tables[1].rows},
                 static_cast<std::size_t>(slice % devices));
    }
    ASSERT_TRUE(check_plan(narrow, task).empty());
    const Planner planner = planner_of(Effort::kFast);
    EXPECT_LE(planner.plan(task).cost.cost_ms, 1.001 * planner.simulate(task, narrow).cost_ms);
  }
}

TEST(AnyCuts, HeedsRequests) {
  const Task task = large_and_small(8);
  const Planner planner = planner_of(Effort::kDefault);
  std::vector<double> costs;
  std::vector<SearchStage> stages;
  const PlanResult result =
      planner.plan(task, {.alternatives = 3, .on_improvement = [&](const Improvement& better) {
                            EXPECT_TRUE(check_plan(better.plan, task).empty());
                            costs.push_back(better.cost.cost_ms);
                            stages.push_back(better.stage);
                          }});
  EXPECT_TRUE(std::ranges::is_sorted(costs, std::greater<>()));
  EXPECT_EQ(costs.back(), result.cost.cost_ms);
  EXPECT_THAT(stages, Contains(SearchStage::kLadder));
  EXPECT_EQ(result.alternatives.size(), 3U);
  double last_ms = result.cost.cost_ms;
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_NE(other.plan, *result.plan);
    EXPECT_TRUE(check_plan(other.plan, task).empty());
    EXPECT_LE(last_ms, other.cost.cost_ms);
    last_ms = other.cost.cost_ms;
  }
  std::stop_source stopped;
  stopped.request_stop();
  const PlanResult early = planner.plan(task, {.stop = stopped.get_token()});
  EXPECT_FALSE(early.complete);
}

TEST(AnyCuts, KeepsToRulesAndMemory) {
  Task task = large_and_small(8);
  for (std::size_t t = 1; t < task.tables.size(); t += 2) task.tables[t].rules.devices = {0, 1, 2};
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult ruled = planner.plan(task);
  expect_good(planner, task, ruled);
  EXPECT_TRUE(ruled.plan->replicas.empty());

  // Room for the slices, and for hardly any replica besides.
  task = large_and_small(8);
  task.memory_bytes = total_bytes(task) / 8 + 40'000;
  const PlanResult tight = planner.plan(task);
  expect_good(planner, task, tight);
}

// Small tables that all together have no room on every device: some of them have.
TEST(AnyCuts, ReplicatesAsManyTablesAsHaveRoom) {
  for (const bool equal : {true, false}) {
    SCOPED_TRACE(equal);
    Task task = large_and_small(16);
    if (!equal) make_unequal(task);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult with_room = planner.plan(task);
    ASSERT_TRUE(with_room.plan);
    std::int64_t bytes = 0;
    for (const int table : with_room.plan->replicas) {
      bytes += task.tables[static_cast<std::size_t>(table)].size_bytes();
    }
    ASSERT_GT(bytes, 0);
    task.memory_bytes = total_bytes(task) / 16 + 3 * bytes / 4;
    for (Device& device : task.device_list) device.memory_bytes = task.memory_bytes;
    const PlanResult tight = planner.plan(task);
    expect_good(planner, task, tight);
    EXPECT_FALSE(tight.plan->replicas.empty());
    EXPECT_LT(tight.plan->replicas.size(), with_room.plan->replicas.size());
  }
}

TEST(AnyCuts, MayReplicateAllTables) {
  Task task{.devices = 16, .memory_bytes = std::int64_t{1} << 30};
  for (int i = 0; i < 4; ++i) task.tables.push_back(plain_table(20 + i, 32, 1.0));
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_EQ(result.plan->replicas.size(), 4U);
  EXPECT_TRUE(result.plan->slices.empty());
}

// A table that is too large for an all-reduce, and hardly looked up.
TEST(AnyCuts, PricesGathersOfTouchedRows) {
  const Planner planner = planner_of(Effort::kFast);
  Task task = large_and_small(8);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    if (t % 2 == 0) continue;
    task.tables[t].rows = 200'000;
    task.tables[t].pooling_factor = 0.02;
    task.tables[t].access_histogram = {1.0};
  }
  const PlanResult dense = planner.plan(task);
  expect_good(planner, task, dense);
  EXPECT_TRUE(dense.plan->replicas.empty());
  for (Table& table : task.tables) table.replica_gradients = ReplicaGradients::kTouched;
  const PlanResult touched = planner.plan(task);
  expect_good(planner, task, touched);
  EXPECT_EQ(touched.plan->replicas.size(), 10U);
  EXPECT_LT(touched.cost.cost_ms, 0.95 * dense.cost.cost_ms);
}

TEST(AnyCuts, OfAnotherBatchCountsItsSamples) {
  const Planner planner = planner_of(Effort::kFast);
  Task task = large_and_small(8);
  const double cost_ms = planner.plan(task).cost.cost_ms;
  task.batch_size = 4 * kDefaultBatchSize;
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_GT(result.cost.cost_ms, 2.0 * cost_ms);
  EXPECT_LT(result.cost.cost_ms, 5.0 * cost_ms);
}

double columns_over_any(const Task& task, const PlanResult& any) {
  return planner_of(Effort::kFast, Cuts::kColumns).plan(task).cost.cost_ms / any.cost.cost_ms;
}

TEST(AnyCuts, CutsByRowsWhatHasManyLookupsAndFewColumns) {
  Task task = large_and_small(16);
  task.tables.push_back(plain_table(20'000'000, 4, 400.0));
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_EQ(std::ranges::count(result.plan->slices, 20, &TableSlice::table), 16);
  EXPECT_GT(columns_over_any(task, result), 1.5);

  // Slow devices are spared what else there is.
  Task unequal = task;
  make_unequal(unequal);
  const PlanResult on_unequal = planner.plan(unequal);
  expect_good(planner, unequal, on_unequal);
  EXPECT_EQ(std::ranges::count(on_unequal.plan->slices, 20, &TableSlice::table), 16);
  EXPECT_GT(columns_over_any(unequal, on_unequal), 1.5);
  EXPECT_LE(on_unequal.cost.cost_ms, planner.simulate(unequal, *result.plan).cost_ms);

  // Blocks on a node's devices are fewer.
  task.tables.back().rules.max_slices = 15;
  const PlanResult on_node = planner.plan(task);
  expect_good(planner, task, on_node);
  EXPECT_EQ(std::ranges::count(on_node.plan->slices, 20, &TableSlice::table), 8);
  task.tables.back().rules.max_slices = 7;
  const PlanResult on_part = planner.plan(task);
  expect_good(planner, task, on_part);
  EXPECT_EQ(std::ranges::count(on_part.plan->slices, 20, &TableSlice::table), 4);
  task.tables.back().rules.max_slices = 1;
  const PlanResult ruled = planner.plan(task);
  expect_good(planner, task, ruled);
  EXPECT_FALSE(has_row_blocks(task, *ruled.plan));
}

}  // namespace
}  // namespace neuroshard
