// Plans near to running ones that replicate tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;

Planner small_planner() {
  return Planner(random_models(4, {.any_batch = true}), {.effort = Effort::kFast, .threads = 1});
}

/// Four tables on three devices; tables 1 and 3 are replicated.
RunningPlan running_job() {
  RunningPlan running;
  running.task.devices = 3;
  running.task.memory_bytes = 1 << 20;
  for (int i = 0; i < 4; ++i) {
    Table table;
    table.name = "t" + std::to_string(i);
    table.rows = 100 * (i + 1);
    table.dim = 8;
    table.pooling_factor = 2.0;
    table.access_histogram[0] = 1.0;
    running.task.tables.push_back(table);
  }
  running.plan = {.slices = {{0, 0, 8, 0, 100}, {2, 0, 4, 0, 300}, {2, 4, 4, 0, 300}},
                  .shards = {{0}, {1}, {2}},
                  .replicas = {1, 3}};
  return running;
}

TEST(KeptReplicas, StayWhereNothingHasChanged) {
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

TEST(KeptReplicas, GoToAddedDevicesAndGetNewRowsEverywhere) {
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
    const bool added = move.to == 3;
    EXPECT_EQ(move.columns.dim, 8);
    EXPECT_EQ(move.from, added ? 0 : -1);
    EXPECT_EQ(move.bytes, (added ? task.tables[static_cast<std::size_t>(move.columns.table)].rows
                                 : std::int64_t{50}) *
                              8 * 4);
  }
  EXPECT_EQ(of_replicas, (200 + 450 + 3 * 50) * 8 * 4);
  EXPECT_GE(result.must_move_bytes, of_replicas);
  EXPECT_GE(result.moved_bytes, result.must_move_bytes);
  EXPECT_THAT(
      message_of([&] { (void)small_planner().replan(task, running, {.most_moved_bytes = 1000}); }),
      HasSubstr("of replicated tables are new or go to devices that have been added"));
}

TEST(KeptReplicas, MayBeAllThatThereIs) {
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

TEST(KeptReplicas, NeedRoom) {
  const RunningPlan running = running_job();
  Task task = running.task;
  task.memory_bytes = 30'000;
  EXPECT_THAT(message_of([&] { (void)small_planner().replan(task, running); }),
              HasSubstr("plan the task anew"));
}

}  // namespace
}  // namespace neuroshard
