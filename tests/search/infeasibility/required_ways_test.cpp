// Tables whose rules leave nothing but row blocks or replicas: where these go, and what a task
// without such a plan is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/weights.h"
#include "random_policies.h"
#include "search/planned_cuts.h"
#include "search/tables_of_kinds.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using testing::expect_good;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::kAmple;
using testing::Kinds;
using testing::message_of;
using testing::planner_of;
using testing::table_of;

using enum ShardingKind;

TEST(RequiredWays, GridsAndNodesKeepOtherRules) {
  const Planner planner = planner_of();
  Task task{
      .tables = {table_of(1'000'000, 128, 20.0, {kGrid}), table_of(500'000, 64, 10.0, {kTableRow}),
                 table_of(100'000, 32, 5.0, {kRow}), table_of(10'000, 16, 5.0)},
      .devices = 16,
      .memory_bytes = kAmple,
      .devices_per_node = 4};
  task.tables[0].rules.max_slices = 11;
  task.tables[0].rules.min_width = 32;
  task.tables[1].rules.not_devices = {0, 5, 13};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  std::vector<int> slices(4);
  for (const TableSlice& slice : result.plan->slices) {
    ++slices[static_cast<std::size_t>(slice.table)];
  }
  EXPECT_LE(slices[0], 8);  // Two slices of columns on four devices each.
  EXPECT_EQ(slices[1], 4);
  EXPECT_EQ(slices[2], 16);
  const auto by_device = slices_by_device(*result.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const bool holds = std::ranges::count(by_device[device], 1, &TableSlice::table) > 0;
    EXPECT_EQ(holds, device / 4 == 2) << device;
  }
  // Over nodes where that is cheaper or over all devices: as the rules leave it.
  task.tables[1].rules = {.kinds = {kRow, kTableRow}};
  expect_good(planner, task, planner.plan(task));
}

TEST(RequiredWays, NodesAreOfAsManyDevicesAsTheTaskSays) {
  // Too large for a device, whichever the columns; of nodes two or four have room.
  Task task{.devices = 16, .memory_bytes = 100'000'000};
  for (int t = 0; t < 3; ++t) {
    task.tables.push_back(table_of(10'000'000, 4, 10.0, {kTable, kColumn, kTableRow, kGrid}));
  }
  const Planner planner = planner_of();
  for (const int node : {2, 4, 8, 16}) {
    SCOPED_TRACE(node);
    task.devices_per_node = node;
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    EXPECT_EQ(result.plan->slices.size(), static_cast<std::size_t>(3 * node));
  }
  task.devices_per_node = 3;
  EXPECT_FALSE(planner.plan(task).plan);
}

TEST(RequiredWays, NodesMayBeOfDifferentDevices) {
  const Planner planner = planner_of();
  Task task{.devices = 8, .devices_per_node = 2};
  task.device_list.assign(8, {.memory_bytes = 100'000'000});
  for (int t = 0; t < 4; ++t) {
    task.tables.push_back(table_of(8'000'000, 4, 10.0, {kTableRow}));
    task.tables.push_back(table_of(50'000 + t, 16, 2.0));
  }
  // A block takes 64 MB: no two fit on a device of 100 MB, and none on one of 50 MB.
  task.device_list[0].memory_bytes = 50'000'000;
  EXPECT_FALSE(planner.plan(task).plan);
  task.device_list[2] = {.memory_bytes = 200'000'000, .base_ms = 1.0, .speed = 2.0};
  task.device_list[3] = {.memory_bytes = 200'000'000, .speed = 1.5};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  const auto by_device = slices_by_device(*result.plan);
  const auto blocks_on = [&](std::size_t device) {
    return std::ranges::count_if(
        by_device[device], [&](const TableSlice& slice) { return is_row_block(task, slice); });
  };
  for (std::size_t device = 0; device < 8; ++device) {
    EXPECT_EQ(blocks_on(device), device < 2 ? 0 : device < 4 ? 2 : 1) << device;
  }
}

TEST(RequiredWays, ReasonsNameTableRuleAndRemedy) {
  Task task{.tables = {table_of(1000, 16, 2.0), table_of(1000, 16, 2.0, {kRow, kGrid})},
            .devices = 4,
            .memory_bytes = kAmple};
  task.tables[1].name = "user";
  const auto reason = [&](const PlannerOptions& options, const CostModels& models) {
    const PlanResult result = Planner(models, options).plan(task);
    EXPECT_FALSE(result.plan);
    if (!result.infeasible) return std::string("none");
    EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kRules);
    EXPECT_EQ(result.infeasible->table, 1);
    return result.infeasible->message;
  };
  const CostModels& models = builtin_weights();
  for (const Algorithm algorithm : all_algorithms()) {
    if (algorithm == Algorithm::kNeuroshard) continue;
    EXPECT_EQ(reason({.algorithm = algorithm, .policy = testing::random_policy(algorithm)}, models),
              "table 1 ('user') may by its rule kinds only be sharded as row, grid, but the "
              "algorithm " +
                  std::string(name_of(algorithm)) +
                  " cuts no rows and replicates no tables; use the algorithm neuroshard with cuts "
                  "any, or loosen the rule");
  }
  EXPECT_THAT(reason({.cuts = Cuts::kColumns}, models), HasSubstr("; allow cuts any, or loosen"));
  EXPECT_THAT(reason({}, testing::golden_models()), HasSubstr("; allow cuts any, or loosen"));
  task.tables[1].rules.kinds = {kTableRow};
  task.devices_per_node = 3;
  EXPECT_THAT(reason({}, models),
              HasSubstr("4 devices are not several whole nodes of at least 2, of which "
                        "devices_per_node says 3; give another number"));
  task.tables[1].rules.kinds = {kReplicate};
  EXPECT_THAT(reason({.cuts = Cuts::kAny}, testing::golden_models()),
              HasSubstr("the cost models do not price replicas"));

  // In reach, but too large.
  const Planner planner = planner_of(Effort::kDefault);
  task.memory_bytes = 60'000;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("table 1 ('user') must by its rule kinds be replicated, but there is no "
                        "room for that on 4 devices"));
  task.memory_bytes = 140'000;
  task.tables[0].rules.no_split = true;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("must by its rule kinds be replicated, which takes 125 KiB of each "
                        "device, and what is left has no room for the others on 4 devices"));
  task.tables[1].rules.kinds = {kRow};
  task.memory_bytes = 70'000;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("must by its rule kinds be cut by rows, which takes 15.6 KiB of each "
                        "device, and what is left has no room for the others"));
  task.tables[0] = table_of(3000, 16, 2.0, {kTableRow});
  task.devices_per_node = 2;
  const PlanResult both = planner.plan(task);
  ASSERT_TRUE(both.infeasible);
  EXPECT_THAT(both.infeasible->message,
              HasSubstr("2 tables, the largest of which is table 0, must by their rules kinds be "
                        "cut by rows, but there is no room"));
  // Too large in columns, and kinds do not let rows be cut.
  task.tables = {table_of(10'000, 4, 2.0, {kColumn})};
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("(rules: kinds column), but a device has 68.4 KiB"));
  task.tables[0].rules.kinds = {kColumn, kRow, kReplicate};
  task.memory_bytes = 50'000;
  EXPECT_TRUE(planner.plan(task).plan);
}

TEST(RequiredWays, ReplicasAreTakenOnDevicesThatDiffer) {
  const Planner planner = planner_of(Effort::kDefault);
  Task task{.tables = {table_of(100'000, 32, 3.0), table_of(50'000, 16, 3.0, {kReplicate}),
                       table_of(20'000, 16, 3.0, {kReplicate, kRow}), table_of(20'000, 16, 3.0)},
            .devices = 3,
            .device_list = {{.memory_bytes = 20'000'000, .speed = 2.0},
                            {.memory_bytes = 30'000'000, .base_ms = 1.0},
                            {.memory_bytes = 40'000'000}}};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_THAT(result.plan->replicas, IsSupersetOf({1, 2}));
  task.tables.erase(task.tables.begin() + 3);
  task.tables.erase(task.tables.begin());
  const PlanResult all = planner.plan(task);
  expect_good(planner, task, all);
  EXPECT_THAT(all.plan->replicas, ElementsAre(0, 1));
  EXPECT_EQ(planner.plan_batch({&task, 1}).front()->plan, all.plan);
}

TEST(RequiredWays, ASearchThatIsStoppedSaysSo) {
  const Planner planner = planner_of(Effort::kDefault);
  std::stop_source stop;
  stop.request_stop();
  for (const Kinds& kinds : {Kinds{kRow}, Kinds{kReplicate}}) {
    Task task{.tables = {table_of(1000, 16, 2.0), table_of(1000, 16, 2.0, kinds)},
              .devices = 4,
              .memory_bytes = kAmple};
    const PlanResult result = planner.plan(task, {.stop = stop.get_token()});
    EXPECT_FALSE(result.complete);
    if (result.plan) {
      expect_good(planner, task, result);
    } else {
      EXPECT_EQ(result.infeasible.value().kind, Infeasibility::Kind::kNoTime);
    }
  }
}

TEST(RequiredWays, ReplanningKeepsThemOrMakesThem) {
  const Planner planner = planner_of();
  Task task{.devices = 4, .memory_bytes = kAmple};
  for (int t = 0; t < 4; ++t) {
    task.tables.push_back(table_of(100'000 + 1000 * t, 64, 4.0));
    task.tables.back().name = "t" + std::to_string(t);
  }
  task.tables[1].rules.kinds = {kReplicate};
  const RunningPlan running{task, planner.plan(task).plan.value()};
  ASSERT_THAT(running.plan.replicas, ElementsAre(1));
  const ReplanResult kept = planner.replan(task, running);
  expect_good(planner, task, kept.result);
  EXPECT_EQ(kept.moved_bytes, 0);
  // No longer, and what was cut by columns is to be whole.
  Task other = task;
  other.tables[1].rules.kinds = {kColumn, kRow};
  other.tables[2].rules.kinds = {kTable};
  const ReplanResult moved =
      planner.replan(other, running, {.most_moved_bytes = total_bytes(task)});
  expect_good(planner, other, moved.result);
  for (const Kinds& kinds : {Kinds{kReplicate}, Kinds{kRow, kTableRow}}) {
    other.tables[3].rules.kinds = kinds;
    expect_good(planner, other, planner.replan(other, running).result);
  }
  other.devices_per_node = 2;
  other.tables[3].rules.kinds = {kTableRow};
  expect_good(planner, other, planner.replan(other, running).result);
  EXPECT_THAT(message_of([&] { (void)planner.replan(other, running, {.most_moved_bytes = 0}); }),
              HasSubstr("give at least 15656000 bytes ("));
  expect_good(planner, other,
              planner.replan(other, running, {.most_moved_bytes = 15'656'000}).result);
}

}  // namespace
}  // namespace neuroshard
