// Plans near to running ones that replicate tables or cut them by rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "message_of.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/replanning/carried_jobs.h"

namespace neuroshard {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::plain_table;
using testing::planner_of_any_kinds;
using testing::running_job;
using testing::small_planner;

TEST(CarriedTables, StayWhereNothingHasChanged) {
  const RunningPlan running = running_job();
  const ReplanResult result = small_planner().replan(running.task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_THAT(result.result.plan->replicas, ElementsAre(1, 3));
  EXPECT_TRUE(check_plan(*result.result.plan, running.task).empty());
  EXPECT_EQ(result.moved_bytes, 0);
  EXPECT_EQ(result.result.cost.cost_ms,
            small_planner().simulate(running.task, *result.result.plan).cost_ms);
  EXPECT_EQ(result.running_cost.cost_ms,
            small_planner().simulate(running.task, running.plan).cost_ms);
}

// A few rows are on a node as they are on a part of it; a single one is as it is whole.
TEST(CarriedTables, OfFewRowsStayInTheWayThatRulesAllow) {
  Task task{.devices = 16, .memory_bytes = std::int64_t{10} << 30};
  task.tables = {plain_table(2, 20, 300.0), plain_table(1, 4, 5.0),
                 plain_table(1'000'000, 64, 2.0)};
  task.tables[0].rules.kinds = {ShardingKind::kPartRow, ShardingKind::kReplicate};
  task.tables[1].rules.kinds = {ShardingKind::kGrid};
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  for (const std::size_t first : {0U, 8U, 10U}) {
    Plan plan;
    plan.shards.resize(16);
    plan.add({0, 0, 20, 0, 1}, first);
    plan.add({0, 0, 20, 1, 1}, first + 1);
    plan.add({1, 0, 4, 0, 1}, first - first % 8);
    plan.add({2, 0, 64, 0, 1'000'000}, 3);
    ASSERT_TRUE(check_plan(plan, task).empty());
    const ReplanResult same = planner.replan(task, {task, plan}, {.most_moved_bytes = 0});
    EXPECT_EQ(same.must_move_bytes, 0) << first;
    ASSERT_TRUE(same.result.plan);
    EXPECT_LE(same.result.cost.cost_ms, same.running_cost.cost_ms);
  }
}

TEST(CarriedTables, GoToAddedDevicesAndGetNewRowsEverywhere) {
  const RunningPlan running = running_job();
  Task task = running.task;
  task.tables.erase(task.tables.begin());  // t0 goes: t1 and t3 are tables 0 and 2 now.
  task.tables[2].rows += 50;
  task.devices = 4;
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_THAT(result.result.plan->replicas, ElementsAre(0, 2));
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  std::int64_t of_replicas = 0;
  for (const TableMove& move : result.moves) {
    if (move.columns.table == 1) continue;
    of_replicas += move.bytes;
    const bool grown = move.from < 0;  // The added device gets these from nobody, too.
    EXPECT_EQ(move.columns.dim, 8);
    EXPECT_EQ(move.from, grown ? -1 : 0);
    EXPECT_TRUE(grown || move.to == 3);
    EXPECT_EQ(move.first_row, grown ? 400 : 0);
    EXPECT_EQ(move.rows, grown ? 50 : (move.columns.table == 0 ? 200 : 400));
    EXPECT_EQ(move.bytes, move.rows * 8 * 4);
  }
  EXPECT_EQ(of_replicas, (200 + 450 + 3 * 50) * 8 * 4);
  EXPECT_GE(result.must_move_bytes, of_replicas);
  EXPECT_GE(result.moved_bytes, result.must_move_bytes);
  EXPECT_THAT(
      message_of([&] { (void)small_planner().replan(task, running, {.most_moved_bytes = 1000}); }),
      HasSubstr("give at least 1600 bytes (1.49012e-06 GiB)"));  // The new rows, in columns.
}

TEST(CarriedTables, MayBeAllThatThereIs) {
  RunningPlan running = running_job();
  running.plan = {.slices = {}, .shards = {{}, {}, {}}, .replicas = {0, 1, 2, 3}};
  running.lost_devices = {1};
  Task task = running.task;
  task.devices = 2;
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_THAT(result.result.plan->replicas, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(result.moved_bytes, 0);
}

/// Table 0 is in blocks of rows on all of `devices`; 1 is whole.
RunningPlan row_wise_job(int devices) {
  RunningPlan running = running_job();
  running.task.devices = devices;
  running.task.tables.resize(2);
  running.task.tables[0].rows = 12 * 7;
  const std::int64_t of_block = running.task.tables[0].rows / devices;
  running.plan = {.slices = {{1, 0, 8, 0, 200}}, .shards = {{0}}};
  running.plan.shards.resize(static_cast<std::size_t>(devices));
  for (int device = 0; device < devices; ++device) {
    running.plan.shards[static_cast<std::size_t>(device)].push_back(device + 1);
    running.plan.slices.push_back({0, 0, 8, device * of_block, of_block});
  }
  return running;
}

TEST(CarriedTables, RowWiseStaysAsItIs) {
  const RunningPlan running = row_wise_job(3);
  const ReplanResult result = small_planner().replan(running.task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, running.task).empty());
  EXPECT_EQ(std::ranges::count(result.result.plan->slices, 0, &TableSlice::table), 3);
  EXPECT_EQ(result.moved_bytes, 0);
  EXPECT_TRUE(result.moves.empty());
}

// Counts for each row who has it before and after.
TEST(CarriedTables, RowWiseIsCutAnewForOtherDevices) {
  for (const int devices : {2, 3, 4, 6}) {
    for (const int lost : {-1, 0, 1}) {
      for (const int added : {0, 1, 2}) {
        SCOPED_TRACE(::testing::Message() << devices << ' ' << lost << ' ' << added);
        RunningPlan running = row_wise_job(devices);
        if (lost >= 0) running.lost_devices = {lost};
        Task task = running.task;
        task.devices += added - (lost >= 0 ? 1 : 0);
        task.tables[0].rows += 5;
        if (task.devices < 2) continue;
        const ReplanResult result = small_planner().replan(task, running);
        ASSERT_TRUE(result.result.plan);
        EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
        std::vector<int> holder(static_cast<std::size_t>(task.tables[0].rows), -1);
        int left = 0;
        for (int device = 0; device < devices; ++device) {
          if (device == lost) continue;
          const auto of_block = 84 / devices;
          std::fill_n(holder.begin() + device * of_block, of_block, left++);
        }
        std::map<std::pair<int, int>, std::int64_t> rows;  // From, to.
        for (std::size_t d = 0; d < result.result.plan->shards.size(); ++d) {
          for (const int slice : result.result.plan->shards[d]) {
            const TableSlice& block = result.result.plan->slices[static_cast<std::size_t>(slice)];
            if (block.table != 0) continue;
            for (std::int64_t row = block.first_row; row < block.first_row + block.rows; ++row) {
              const int from = holder[static_cast<std::size_t>(row)];
              if (from != static_cast<int>(d)) ++rows[{from, static_cast<int>(d)}];
            }
          }
        }
        std::map<std::pair<int, int>, std::int64_t> moved;
        for (const TableMove& move : result.moves) {
          if (move.columns.table == 0) moved[{move.from, move.to}] += move.bytes / (8 * 4);
        }
        EXPECT_EQ(moved, rows);
        EXPECT_GE(result.must_move_bytes, 5 * 8 * 4);
      }
    }
  }
}

/// Table 0 is in blocks of rows on the second of two nodes of two devices, table 1 a grid over
/// both, table 2 whole.
RunningPlan node_job() {
  RunningPlan running = running_job();
  running.task.devices = 4;
  running.task.devices_per_node = 2;
  running.task.tables.resize(3);
  running.plan = {.slices = {{0, 0, 8, 0, 50},
                             {0, 0, 8, 50, 50},
                             {1, 0, 4, 0, 100},
                             {1, 0, 4, 100, 100},
                             {1, 4, 4, 0, 100},
                             {1, 4, 4, 100, 100},
                             {2, 0, 8, 0, 300}},
                  .shards = {{2, 6}, {3}, {0, 4}, {1, 5}}};
  return running;
}

std::vector<int> devices_of(const Plan& plan, int table) {
  std::vector<int> devices;
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int slice : plan.shards[d]) {
      if (plan.slices[static_cast<std::size_t>(slice)].table == table) {
        devices.push_back(static_cast<int>(d));
      }
    }
  }
  return devices;
}

TEST(CarriedTables, BlocksOnNodesStayAsTheyAre) {
  const RunningPlan running = node_job();
  Task task = running.task;
  const ReplanResult same = small_planner().replan(task, running);
  ASSERT_TRUE(same.result.plan);
  EXPECT_TRUE(check_plan(*same.result.plan, task).empty());
  EXPECT_TRUE(same.moves.empty());
  EXPECT_THAT(devices_of(*same.result.plan, 0), ElementsAre(2, 3));
  EXPECT_THAT(devices_of(*same.result.plan, 1), ElementsAre(0, 1, 2, 3));
  // Beside another node, with ten rows more: these nobody has, and five go from block to block.
  task.devices = 6;
  task.tables[0].rows += 10;
  const ReplanResult grown =
      small_planner().replan(task, running, {.most_moved_bytes = 15 * 8 * 4});
  ASSERT_TRUE(grown.result.plan);
  EXPECT_THAT(devices_of(*grown.result.plan, 0), ElementsAre(2, 3));
  std::map<std::pair<int, int>, std::int64_t> rows;
  for (const TableMove& move : grown.moves) {
    if (move.columns.table == 0) rows[{move.from, move.to}] += move.bytes / (8 * 4);
    EXPECT_NE(move.columns.table, 1);
  }
  EXPECT_EQ(rows, (std::map<std::pair<int, int>, std::int64_t>{{{3, 2}, 5}, {{-1, 3}, 10}}));
}

TEST(CarriedTables, BlocksOnANodeThatIsLostGoToAnother) {
  RunningPlan running = node_job();
  running.lost_devices = {0, 1};
  Task task = running.task;
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_THAT(devices_of(*result.result.plan, 0).size(), AnyOf(2U, 4U));
  // A grid, or the lost half came to the other one, which takes no more.
  EXPECT_THAT(devices_of(*result.result.plan, 1).size(), AnyOf(2U, 4U));
  std::int64_t lost = 0;
  for (const TableMove& move : result.moves) {
    if (move.columns.table == 1 && move.from == -1) lost += move.bytes;
  }
  EXPECT_EQ(lost, 200 * 4 * 4);
  // Without nodes, or where rules forbid it, they are new tables.
  task.devices = 3;
  running.lost_devices = {3};
  EXPECT_TRUE(small_planner().replan(task, running).result.plan);
  running.lost_devices = {};
  task.devices = 4;
  task.tables[0].rules.kinds = {ShardingKind::kColumn};
  task.tables[1].rules.max_slices = 3;
  const ReplanResult ruled = small_planner().replan(task, running);
  ASSERT_TRUE(ruled.result.plan);
  EXPECT_TRUE(check_plan(*ruled.result.plan, task).empty());
}

// Tables without names are known by their order, whatever becomes of those before them.
TEST(CarriedTables, TablesThatMayNotStayReplicatedAreNotMistakenForOthers) {
  RunningPlan running = running_job();
  for (Table& table : running.task.tables) table.name.clear();
  Task task = running.task;
  task.tables[1].rules.kinds = {ShardingKind::kTable};
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_THAT(result.result.plan->replicas, ElementsAre(3));
  // All devices hold it.
  EXPECT_EQ(result.must_move_bytes, 0);
  EXPECT_THAT(result.moves, IsEmpty());
}

// A plan of the search is a good one to run on.
TEST(CarriedTables, PlansOfTheSearchCanStay) {
  const Planner planner = planner_of_any_kinds();
  std::mt19937_64 random(8);
  int by_rows = 0;
  int odd = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(100))) {
    Task task = testing::random_task(seed);
    for (Table& table : task.tables) {
      table.dim = 4 * static_cast<int>(1 + random() % 30);
      if (random() % 3 == 0) table.pooling_factor *= 50.0;
    }
    const PlanResult plan = planner.plan(task);
    if (!plan.plan) continue;
    by_rows += has_row_blocks(task, *plan.plan) ? 1 : 0;
    odd += halvings_of(*plan.plan) ? 0 : 1;
    const ReplanResult result =
        planner.replan(task, {.task = task, .plan = *plan.plan}, {.most_moved_bytes = 0});
    ASSERT_TRUE(result.result.plan);
    EXPECT_EQ(result.moved_bytes, 0);
    EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
    EXPECT_LE(result.result.cost.cost_ms, plan.cost.cost_ms * (1.0 + 1e-6));
  }
  EXPECT_GT(by_rows, 0);
  EXPECT_TRUE(odd > by_rows || testing::kFewTasks);  // Too few tasks.
}

TEST(CarriedTables, ReplicasThatHaveNoRoomAreDropped) {
  const RunningPlan running = running_job();
  Task task = running.task;
  task.memory_bytes = 15'000;  // Replicas alone take 38,400, with gradients.
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.moved_bytes, 0);
  task.memory_bytes = 9'000;
  // There is no plan at all, whatever may be moved.
  EXPECT_TRUE(small_planner().replan(task, running).result.infeasible);
  EXPECT_TRUE(small_planner().replan(task, running, {.most_moved_bytes = 0}).result.infeasible);
}

// The first of two nodes is nearly full of blocks, and the second empty.
TEST(CarriedTables, DevicesBesideBlocksOnNodesAreNotTakenForFull) {
  RunningPlan running = node_job();
  running.task.tables.resize(1);
  running.plan = {.slices = {{0, 0, 8, 0, 50}, {0, 0, 8, 50, 50}}, .shards = {{0}, {1}, {}, {}}};
  Task task = running.task;
  task.memory_bytes = 3000;  // A block takes 1,600 of them.
  Table added = task.tables[0];
  added.name = "added";
  added.rows = 180;
  task.tables.push_back(added);  // Halves of 2,880.
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_THAT(devices_of(*result.result.plan, 0), ElementsAre(0, 1));
  EXPECT_EQ(result.moved_bytes, 180 * 8 * 4);
}

TEST(CarriedTables, BlocksOnNodesAreOnAllDevicesWhereThereAreNoNodesAndColumnsDoNotFit) {
  RunningPlan running = node_job();
  running.task.tables.resize(1);
  running.plan = {.slices = {{0, 0, 8, 0, 50}, {0, 0, 8, 50, 50}}, .shards = {{}, {}, {0}, {1}}};
  running.task.memory_bytes = 1600;
  running.lost_devices = {3};
  Task task = running.task;
  task.devices = 3;
  task.memory_bytes = 1200;  // Halves take 1,600.
  const ReplanResult result = planner_of_any_kinds().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  // Blocks of 34 rows: device 2 keeps 32 of the first 50 of all rows.
  std::map<std::pair<int, int>, std::int64_t> rows;
  for (const TableMove& move : result.moves) rows[{move.from, move.to}] += move.rows;
  EXPECT_EQ(rows, (std::map<std::pair<int, int>, std::int64_t>{
                      {{2, 0}, 34}, {{2, 1}, 16}, {{-1, 1}, 18}, {{-1, 2}, 32}}));
}

// The half of a table in blocks, the other whole.
TEST(CarriedTables, OtherBlocksStayAsLongAsTheirDevicesDo) {
  RunningPlan running = running_job();
  running.task.tables.resize(2);
  running.plan = {
      .slices = {{0, 0, 4, 0, 100}, {0, 4, 4, 0, 60}, {0, 4, 4, 60, 40}, {1, 0, 8, 0, 200}},
      .shards = {{0}, {1, 3}, {2}}};
  Task task = running.task;
  task.tables[0].rows += 20;
  task.devices = 4;
  const ReplanResult result = small_planner().replan(task, running, {.most_moved_bytes = 640});
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.moved_bytes, 20 * 8 * 4);
  for (const TableMove& move : result.moves) {
    EXPECT_EQ(move.from, -1);
    EXPECT_EQ(std::pair(move.first_row, move.rows), std::pair(std::int64_t{100}, std::int64_t{20}));
  }
  running.lost_devices = {2};
  task.devices = 2;
  const ReplanResult lost = planner_of_any_kinds().replan(task, running);
  ASSERT_TRUE(lost.result.plan);
  EXPECT_TRUE(check_plan(*lost.result.plan, task).empty());
}

}  // namespace
}  // namespace neuroshard
