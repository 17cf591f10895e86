// Tasks that columns alone do not fit, and the row blocks that make them fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/random.h"
#include "core/plans/sharding_kinds.h"
#include "golden.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/planner_options.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;
using testing::planner_of;

Table table_of_bytes(std::int64_t bytes, int dim) {
  Table table{
      .rows = std::max<std::int64_t>(1, bytes / (4 * dim)), .dim = dim, .pooling_factor = 10.0};
  table.access_histogram[1] = 1.0;
  return table;
}

// One table whose narrowest slice exceeds a device, and small ones.
Task task_of_a_giant(int devices) {
  Task task{.devices = devices, .memory_bytes = 100'000'000};
  task.tables.push_back(table_of_bytes(devices * 70'000'000LL, 4));
  for (int t = 0; t < 2 * devices; ++t) task.tables.push_back(table_of_bytes(9'000'000, 32));
  return task;
}

// TorchRec's runtime executes tables with whole rows, equal blocks of rows with all columns on all
// devices in order, and, for each slice of columns, equal blocks on the devices of a node in order.
void expect_cut_as_torchrec_cuts(const Plan& plan, const Task& task) {
  struct Block {
    std::int64_t first_row;
    std::int64_t rows;
    int device;
    auto operator<=>(const Block&) const = default;
  };
  std::map<std::pair<int, int>, std::set<Block>> blocks;  // By table and first column.
  std::map<std::pair<int, int>, int> dims;
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      if (!is_row_block(task, slice)) continue;
      const std::pair place(slice.table, slice.first_column);
      blocks[place].insert({slice.first_row, slice.rows, static_cast<int>(d)});
      dims[place] = slice.dim;
    }
  }
  for (const auto& [place, of_columns] : blocks) {
    const Table& table = task.tables[static_cast<std::size_t>(place.first)];
    const int first = of_columns.begin()->device;
    // On all devices, a node, or a part of one.
    const int groups[] = {task.devices, 8, 4, 2};
    const auto of_group = std::ranges::find_if(groups, [&, &of_columns = of_columns](int group) {
      const int node = task.devices_per_node;
      const bool is_part = first + group <= task.devices && group < node &&
                           first / node == (first + group - 1) / node;
      return (task.devices % group == 0 || is_part) && first % group == 0 &&
             of_columns.begin()->rows == (table.rows + group - 1) / group;
    });
    ASSERT_NE(of_group, std::end(groups));
    const int group = *of_group;
    if (group == task.devices) {
      EXPECT_EQ(dims[place], table.dim);
    }
    const std::int64_t rows = (table.rows + group - 1) / group;
    std::int64_t next_row = 0;
    int next_device = first;
    for (const Block& block : of_columns) {
      EXPECT_EQ(block.first_row, next_row);
      EXPECT_EQ(block.device, next_device++);
      EXPECT_EQ(block.rows, std::min(rows, table.rows - next_row));
      next_row += block.rows;
    }
    EXPECT_EQ(next_row, table.rows);
    EXPECT_LE(next_device, first + group);
  }
}

void expect_cut_well(const Planner& planner, const Task& task, const PlanResult& result) {
  ASSERT_TRUE(result.plan) << result.infeasible->message;
  EXPECT_TRUE(check_plan(*result.plan, task).empty());
  expect_cut_as_torchrec_cuts(*result.plan, task);
  const PlanCost cost = planner.simulate(task, *result.plan);
  EXPECT_TRUE(cost.fits_memory);
  EXPECT_EQ(result.cost.cost_ms, cost.cost_ms);
  EXPECT_EQ(result.cost.warning, cost.warning);
}

TEST(RowBlocks, MakeATableFitThatNoColumnsDo) {
  for (const int devices : {2, 3, 8, 16, 20, 24}) {
    SCOPED_TRACE(devices);
    const Task task = task_of_a_giant(devices);
    const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    ASSERT_TRUE(by_columns.infeasible);
    EXPECT_EQ(by_columns.infeasible->kind, Infeasibility::Kind::kPieceTooLarge);
    const Planner planner = planner_of(Effort::kDefault);
    const PlanResult result = planner.plan(task);
    expect_cut_well(planner, task, result);
    EXPECT_TRUE(has_row_blocks(task, *result.plan));
    EXPECT_GT(result.stats.edits, 0U);
    EXPECT_GT(result.stats.search_ms, 0.0);
    EXPECT_EQ(result.stats.backend, planner.backend());
  }
}

TEST(RowBlocks, OfNodesCostLessThanOfAllDevices) {
  // A row-wise table brings all its columns to each device.
  Task task = task_of_a_giant(64);
  task.tables.front() = table_of_bytes(64 * 40'000'000LL, 16);
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult result = planner.plan(task);
  expect_cut_well(planner, task, result);
  // So it is cut by columns as well, unless that costs more.
  task.tables.front().rules.kinds = {ShardingKind::kGrid};
  const PlanResult in_grids = planner.plan(task);
  expect_cut_well(planner, task, in_grids);
  EXPECT_LE(result.cost.cost_ms, 1.001 * in_grids.cost.cost_ms);
}

TEST(RowBlocks, AreThereOnlyForWantOfRoomOrForLessCost) {
  int by_rows = 0;
  for (const std::uint64_t seed : testing::Seeds(40)) {
    const Task task = testing::random_task(seed);
    const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult any = planner.plan(task);
    if (by_columns.plan) {
      EXPECT_LE(any.cost.cost_ms, 1.01 * by_columns.cost.cost_ms);
    } else if (any.plan) {
      ++by_rows;
      expect_cut_well(planner, task, any);
    } else {
      EXPECT_EQ(any.infeasible->message, by_columns.infeasible->message);
    }
  }
  EXPECT_GT(by_rows, 0);
}

TEST(RowBlocks, CountTheLookupsOfTheBusiestBlock) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    Random random(seed, 9);
    const int devices = seed % 2 == 0 ? 16 : 4;
    Task task = task_of_a_giant(devices);
    for (Table& table : task.tables) {
      table.memory.batch_size = 65536;
      if (random.below(2) == 0) continue;
      table.row_shares.resize(1 + random.below(30));
      double sum = 0.0;
      for (double& share : table.row_shares) sum += share = 0.01 + std::pow(random.uniform(), 6.0);
      for (double& share : table.row_shares) share /= sum;
    }
    task.tables.front().row_shares = {0.8, 0.1, 0.06, 0.04};
    task.memory_bytes += 30'000'000;
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    ASSERT_NO_FATAL_FAILURE(expect_cut_well(planner, task, result));
    EXPECT_TRUE(has_row_blocks(task, *result.plan));
    // All wait for the ids of the device with the first block, if the plan does not know of it.
    Task even = task;
    for (Table& table : even.tables) table.row_shares.clear();
    const PlanResult of_even = planner.plan(even);
    ASSERT_TRUE(of_even.plan);
    const auto lookups = [&](const Task& of) {
      const PlanCost cost = planner.simulate(of, *of_even.plan);
      return std::ranges::max(cost.devices, {}, &DeviceCost::lookups).lookups;
    };
    EXPECT_GT(lookups(task), lookups(even));
  }
}

// The busiest block is not the first, nor the largest.
TEST(RowBlocks, FitAlsoIfTheLastBlockIsTheBusiest) {
  Task task = task_of_a_giant(3);
  for (Table& table : task.tables) table.memory.batch_size = 1'000'000;
  Table& giant = task.tables.front();
  giant.rows += 1;
  giant.row_shares.assign(10, 0.01);
  giant.row_shares.back() = 0.91;
  task.memory_bytes = 1'600'000'000;
  giant.rows *= 12;
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult result = planner.plan(task);
  ASSERT_NO_FATAL_FAILURE(expect_cut_well(planner, task, result));
  EXPECT_TRUE(has_row_blocks(task, *result.plan));
  // To the byte: nothing that has room is passed over.
  std::int64_t most = 0;
  Task alone = task;
  alone.tables.resize(1);
  for (int d = 0; d < 3; ++d) {
    const std::int64_t rows = (giant.rows + 2) / 3;
    const std::int64_t first = d * rows;
    most = std::max(most, slice_bytes(alone, {0, 0, 4, first, std::min(rows, giant.rows - first)}));
  }
  alone.memory_bytes = most;
  expect_cut_well(planner, alone, planner.plan(alone));
  alone.memory_bytes = most - 1;
  EXPECT_FALSE(planner.plan(alone).plan);
}

TEST(RowBlocks, FindAPlanWheneverAllTablesRowWiseFit) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(30))) {
    Random random(seed);
    Task task;
    task.devices = 1 + static_cast<int>(random.below(40));
    for (std::uint64_t t = 0; t < 1 + random.below(6); ++t) {
      task.tables.push_back(
          table_of_bytes(1'000'000 + static_cast<std::int64_t>(random.below(100'000'000)),
                         4 * (1 + static_cast<int>(random.below(9)))));
    }
    for (const Table& table : task.tables) {
      const std::int64_t rows = (table.rows + task.devices - 1) / task.devices;
      task.memory_bytes += 4 * table.dim * rows;
    }
    const Planner planner = planner_of(Effort::kFast, Cuts::kAny);
    expect_cut_well(planner, task, planner.plan(task));
    Task unequal = task;
    unequal.device_list.assign(static_cast<std::size_t>(task.devices),
                               {.memory_bytes = task.memory_bytes});
    for (Device& device : unequal.device_list) {
      if (random.below(2) == 0) device.speed = 0.5 + random.uniform();
      if (random.below(2) == 0) device.memory_bytes *= 1 + random.below(3);
    }
    expect_cut_well(planner, unequal, planner.plan(unequal));
    task.memory_bytes = total_bytes(task) / task.devices - 1;
    const PlanResult none = planner.plan(task);
    ASSERT_TRUE(none.infeasible);
    EXPECT_EQ(none.infeasible->kind, Infeasibility::Kind::kTotalMemory);
  }
}

/// Few columns and many lookups, twice as many tables as devices.
Task task_of_narrow_tables(int devices, int devices_per_node) {
  Task task{.devices = devices, .memory_bytes = bytes_from_gib(1.0)};
  task.devices_per_node = devices_per_node;
  Random random(static_cast<std::uint64_t>(devices));
  for (int t = 0; t < devices; ++t) {
    Table& table = task.tables.emplace_back(table_of_bytes(60'000'000, 8));
    table.pooling_factor = random.log_uniform(10.0, 200.0);
  }
  return task;
}

TEST(RowBlocks, AreOnPartsOfNodesAlsoIfTheLastIsNotFull) {
  for (const auto& [devices, node] : {std::pair{12, 8}, {7, 8}, {10, 8}, {10, 4}, {6, 4}}) {
    SCOPED_TRACE(devices);
    const Task task = task_of_narrow_tables(devices, node);
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    expect_cut_well(planner, task, result);
    using enum ShardingKind;
    Task without = task;
    for (Table& table : without.tables) {
      table.rules.kinds = {kTable, kColumn, kRow, kTableRow, kGrid, kReplicate};
    }
    EXPECT_LT(result.cost.cost_ms, 0.99 * planner.plan(without).cost.cost_ms);
    // Blocks on all devices of the last node would be of another kind.
    Task only = task;
    for (Table& table : only.tables) table.rules.kinds = {kPartRow};
    const PlanResult of_parts = planner.plan(only);
    expect_cut_well(planner, only, of_parts);
    for (const std::vector<ShardingKind>& kinds : sharding_kinds(only, *of_parts.plan)) {
      EXPECT_THAT(kinds, ::testing::Contains(kPartRow));
    }
  }
}

// Rules that forbid grids forbid some blocks on the last device, and nothing else there.
TEST(RowBlocks, LeaveTheLastDeviceToWholeTables) {
  using enum ShardingKind;
  for (const auto& [devices, node] : {std::pair{9, 8}, {5, 4}, {3, 2}}) {
    SCOPED_TRACE(devices);
    Task task{.devices = devices, .devices_per_node = node};
    for (int t = 0; t < devices; ++t) {
      task.tables.push_back(table_of_bytes(60'000'000, 8));
      task.tables.back().rules.kinds = {kTable};
    }
    task.memory_bytes = 60'000'000;
    const Planner planner = planner_of(Effort::kFast);
    expect_cut_well(planner, task, planner.plan(task));
  }
}

// A table of two rows has two blocks on parts of any size.
TEST(RowBlocks, OfFewRowsKeepToGroupsOfDevices) {
  for (const int devices : {6, 10, 11, 14, 22}) {
    for (const std::int64_t rows : {2, 3, 5}) {
      SCOPED_TRACE(devices);
      Task task = task_of_narrow_tables(devices, devices == 10 ? 12 : 8);
      for (Table& table : task.tables) {
        table.rows = rows;
        table.rules.kinds = {ShardingKind::kPartRow};
      }
      const Planner planner = planner_of(Effort::kDefault);
      const PlanResult result = planner.plan(task);
      ASSERT_TRUE(result.plan);
      EXPECT_TRUE(check_plan(*result.plan, task).empty());
    }
  }
}

TEST(RowBlocks, MoreEffortIsNeverDearer) {
  for (const int devices : {8, 16}) {
    const Task task = task_of_a_giant(devices);
    const double fast_ms = planner_of(Effort::kFast).plan(task).cost.cost_ms;
    EXPECT_LE(planner_of(Effort::kDefault).plan(task).cost.cost_ms, fast_ms);
  }
}

TEST(RowBlocks, OfABatchAreThoseOfSinglePlans) {
  const std::vector<Task> tasks = {task_of_a_giant(4), testing::random_task(3),
                                   task_of_a_giant(16)};
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 2});
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(outcomes[i]);
    const PlanResult alone = planner.plan(tasks[i]);
    EXPECT_EQ(outcomes[i]->plan, alone.plan);
    EXPECT_EQ(outcomes[i]->cost.warning, alone.cost.warning);
  }
  EXPECT_TRUE(has_row_blocks(tasks[0], *outcomes[0]->plan));
}

TEST(RowBlocks, HeedRequests) {
  const Task task = task_of_a_giant(16);
  const Planner planner = planner_of(Effort::kDefault);
  std::vector<double> costs;
  const PlanResult result =
      planner.plan(task, {.alternatives = 3, .on_improvement = [&](const Improvement& better) {
                            EXPECT_GE(better.stage, SearchStage::kLadder);
                            EXPECT_TRUE(check_plan(better.plan, task).empty());
                            costs.push_back(better.cost.cost_ms);
                          }});
  ASSERT_TRUE(result.plan);
  EXPECT_TRUE(std::ranges::is_sorted(costs, std::greater<>()));
  EXPECT_EQ(costs.back(), result.cost.cost_ms);
  EXPECT_GE(result.alternatives.size(), 1U);
  EXPECT_LE(result.alternatives.size(), 3U);
  double last_ms = result.cost.cost_ms;
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_LE(last_ms, other.cost.cost_ms);
    last_ms = other.cost.cost_ms;
    EXPECT_NE(other.plan, *result.plan);
    EXPECT_EQ(planner.simulate(task, other.plan).cost_ms, last_ms);
  }
  const PlanResult late = planner.plan(task, {.deadline = std::chrono::steady_clock::now()});
  EXPECT_FALSE(late.complete);
}

TEST(RowBlocks, KeepToEqualWidths) {
  const Task task = task_of_a_giant(24);
  const Planner planner(builtin_weights(),
                        {.effort = Effort::kFast, .equal_widths = true, .threads = 1});
  const PlanResult result = planner.plan(task);
  expect_cut_well(planner, task, result);
  std::map<int, int> dims;
  for (const TableSlice& slice : result.plan->slices) {
    EXPECT_EQ(dims.try_emplace(slice.table, slice.dim).first->second, slice.dim);
  }
}

TEST(RowBlocks, AreForWeightsThatKnowWhatTheyWereTrainedOn) {
  EXPECT_EQ(default_cuts(builtin_weights()), Cuts::kAny);
  EXPECT_EQ(default_cuts(testing::golden_models()), Cuts::kColumns);
  const Task task = task_of_a_giant(4);
  const CostModels published = testing::golden_models();
  EXPECT_TRUE(Planner(published).plan(task).infeasible);
  EXPECT_TRUE(Planner(published, {.cuts = Cuts::kAny}).plan(task).plan);
  EXPECT_TRUE(
      Planner(builtin_weights(), {.algorithm = Algorithm::kPublished}).plan(task).infeasible);
}

TEST(RowBlocks, CountInFingerprintsWhereTheyAreNotTheDefault) {
  const Task task = task_of_a_giant(4);
  const auto of = [&](std::optional<Cuts> cuts) {
    return planner_of(Effort::kFast, cuts).fingerprint(task);
  };
  EXPECT_EQ(of({}), of(Cuts::kAny));
  EXPECT_NE(of({}), of(Cuts::kColumns));
}

TEST(RowBlocks, AnUnknownKindOfCutsIsAnErrorThatNamesThem) {
  EXPECT_THAT([] { (void)cuts_from_name("colums"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("columns")));
}

}  // namespace
}  // namespace neuroshard
