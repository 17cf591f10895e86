#include "neuroshard/device_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"

namespace neuroshard {
namespace {

using testing::golden_task;
using ::testing::HasSubstr;
using testing::message_of;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr NodeNetwork kNodesOfEight{.devices_per_node = 8,
                                    .links = {.in_node_gb_s = 300.0, .between_nodes_gb_s = 25.0}};

const Planner& groups_planner() {
  static const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 2});
  return planner;
}

Task grouped_task(int devices) {
  Task task = golden_task("4gpu_dim128", 0);
  task.devices = devices;
  for (Table& table : task.tables) table.memory.batch_size = task.batch_size;
  return task;
}

TEST(DeviceGroups, AreTasksOfTheirOwn) {
  const Task task = grouped_task(64);
  const Task next = task_of_group(task, {16, GroupLayout::kConsecutive}, kNodesOfEight);
  EXPECT_EQ(next.devices, 16);
  EXPECT_EQ(next.batch_size, task.batch_size / 4);
  EXPECT_EQ(next.tables[0].memory.batch_size, task.batch_size / 4);
  EXPECT_EQ(next.devices_per_node, 8);
  EXPECT_FALSE(next.links);
  // Two of each node.
  const Task apart = task_of_group(task, {16, GroupLayout::kInterleaved}, kNodesOfEight);
  EXPECT_EQ(apart.devices_per_node, 2);
  ASSERT_TRUE(apart.links);
  EXPECT_EQ(apart.links->between_nodes_gb_s, 25.0);
  // Within a node, and of more groups than a node has devices.
  EXPECT_EQ(task_of_group(task, {4, GroupLayout::kConsecutive}, kNodesOfEight).devices_per_node, 4);
  EXPECT_EQ(task_of_group(task, {4, GroupLayout::kInterleaved}, kNodesOfEight).devices_per_node, 1);
  Task odd = task;
  odd.batch_size = 65'537;
  EXPECT_EQ(task_of_group(odd, {16, GroupLayout::kConsecutive}, kNodesOfEight).batch_size, 16'385);
}

TEST(DeviceGroups, ShareWhatNodesHaveTogether) {
  NodeNetwork network = kNodesOfEight;
  network.links.node_gb_s = 80.0;
  const Task task = grouped_task(64);
  EXPECT_FALSE(task_of_group(task, {16, GroupLayout::kConsecutive}, network).links);
  const Task apart = task_of_group(task, {16, GroupLayout::kInterleaved}, network);
  ASSERT_TRUE(apart.links);
  EXPECT_EQ(apart.links->node_gb_s, 20.0);
  const Task within = task_of_group(task, {4, GroupLayout::kConsecutive}, network);
  ASSERT_TRUE(within.links);
  EXPECT_EQ(within.links->node_gb_s, 40.0);
}

TEST(DeviceGroups, ShareTheHostMemoryOfANode) {
  Task task = grouped_task(16);
  task.host = {.bytes = 16 * kGiB, .link_gb_s = 25.0, .of_node = true};
  const auto host_bytes = [&](int size) {
    return task_of_group(task, {size, GroupLayout::kConsecutive}, kNodesOfEight).host.bytes;
  };
  EXPECT_EQ(host_bytes(8), 16 * kGiB);
  EXPECT_EQ(host_bytes(2), 4 * kGiB);
  task.device_list.assign(16, {.memory_bytes = task.memory_bytes, .host_bytes = 8 * kGiB});
  const Task listed = task_of_group(task, {2, GroupLayout::kConsecutive}, kNodesOfEight);
  EXPECT_EQ(listed.device_list[1].host_bytes, 2 * kGiB);
  task.host.of_node = false;
  EXPECT_EQ(host_bytes(2), 16 * kGiB);
}

/// In blocks of 32 devices.
Task task_in_pods(int devices) {
  Task task = grouped_task(devices);
  task.links = NodeLinks{.levels = {{32, 5.0}}};
  return task;
}

// By each pair of devices: those that share a block of the group's task share one of the task.
TEST(DeviceGroups, SeeLevelsAsTheirDevicesDo) {
  const Task task = task_in_pods(128);
  for (const int size : {1, 2, 4, 8, 16, 32, 64}) {
    for (const GroupLayout layout : all_group_layouts()) {
      SCOPED_TRACE(std::to_string(size) + std::string(name_of(layout)));
      const Task group = task_of_group(task, {size, layout}, kNodesOfEight);
      EXPECT_NO_THROW(validate(group));
      const int copies = 128 / size;
      const auto device_in_all = [&](int d) {
        return layout == GroupLayout::kConsecutive ? size + d : d * copies + 1;
      };
      const auto blocks_differ = [](int a, int b, int block) { return a / block != b / block; };
      for (int a = 0; a < size; ++a) {
        for (int b = 0; b < size; ++b) {
          bool beyond = false;
          for (const LinkLevel& level : group.links->levels) {
            EXPECT_EQ(level.gb_s, 5.0);
            beyond = blocks_differ(a, b, level.devices);
          }
          ASSERT_EQ(beyond, blocks_differ(device_in_all(a), device_in_all(b), 32)) << a << ' ' << b;
        }
      }
    }
  }
}

TEST(DeviceGroups, AverageBeyondLevels) {
  constexpr double kGb = 1.073741824;
  const auto ms_per_gib = [](const Task& task, const DeviceGroups& groups) {
    return averaging_time(task, groups, kNodesOfEight).ms_per_gib;
  };
  // Four groups, each of one block: nothing but the links between these.
  const DeviceGroups in_blocks{32, GroupLayout::kConsecutive};
  const double beyond = 2.0 * 3.0 / 4.0 * kGb / (5.0 * 0.85) * 1e3;
  EXPECT_NEAR(ms_per_gib(task_in_pods(128), in_blocks), beyond, 1e-9 * beyond);
  // Copies are side by side, in a block: levels make no difference.
  const DeviceGroups apart{32, GroupLayout::kInterleaved};
  EXPECT_EQ(ms_per_gib(task_in_pods(128), apart), ms_per_gib(grouped_task(128), apart));
}

TEST(DeviceGroups, MayLeaveTheLastNodePartlyEmpty) {
  const Task task = grouped_task(12);  // Nodes of 8 devices, and of 4.
  const DeviceGroups all{12, GroupLayout::kConsecutive};
  EXPECT_EQ(task_of_group(task, all, kNodesOfEight).devices_per_node, 8);
  const Task part = task_of_group(task, {4, GroupLayout::kConsecutive}, kNodesOfEight);
  EXPECT_EQ(part.devices, 4);
  EXPECT_EQ(part.devices_per_node, 4);
  // Every second device: 4 of a node, and 2.
  const Task scattered = task_of_group(task, {6, GroupLayout::kInterleaved}, kNodesOfEight);
  EXPECT_EQ(scattered.devices, 6);
  EXPECT_EQ(scattered.devices_per_node, 4);
  EXPECT_THAT(message_of([&] {
                (void)task_of_group(task, {3, GroupLayout::kConsecutive}, kNodesOfEight);
              }),
              HasSubstr("do not fit nodes of 8"));
}

TEST(DeviceGroups, FitBlocksOrSayThatTheyDoNot) {
  Task task = task_in_pods(96);
  task.links->levels = {{24, 5.0}};
  const auto error = message_of([&] {
    (void)task_of_group(task, {16, GroupLayout::kConsecutive}, kNodesOfEight);
  });
  EXPECT_THAT(error, HasSubstr("consecutive, do not fit blocks of 24"));
}

// A ring sends 2 (n - 1) / n of what each has; links reach shares of their datasheets.
TEST(DeviceGroups, AverageAsRingsDo) {
  constexpr double kGb = 1.073741824;
  const Task task = grouped_task(64);
  const auto ms_per_gib = [&](int size, GroupLayout layout, const NodeNetwork& network) {
    return averaging_time(task, {size, layout}, network).ms_per_gib;
  };
  const double between = 2.0 * 3.0 / 4.0 * kGb / (25.0 * 0.85) * 1e3;
  EXPECT_NEAR(ms_per_gib(16, GroupLayout::kConsecutive, kNodesOfEight), between, 1e-9 * between);
  const double within = 2.0 * 3.0 / 4.0 * kGb / (300.0 * (0.375 + 0.053 * 4.0)) * 1e3;
  EXPECT_NEAR(ms_per_gib(16, GroupLayout::kInterleaved, kNodesOfEight), within, 1e-9 * within);
  // All eight devices of a node average at once.
  NodeNetwork shared = kNodesOfEight;
  shared.links.node_gb_s = 40.0;
  EXPECT_NEAR(ms_per_gib(16, GroupLayout::kConsecutive, shared), 5.0 * between, 1e-9 * between);
  EXPECT_EQ(averaging_time(task, {64, GroupLayout::kConsecutive}, kNodesOfEight).ms(7.0), 0.0);
}

TEST(DeviceGroups, OneGroupHasThePlanOfTheTask) {
  const Task task = grouped_task(16);
  const PlanResult expected = groups_planner().plan(task);
  const GroupsResult result =
      groups_planner().plan_groups(task, {.sizes = {16}, .iterations = 10.0});
  ASSERT_EQ(result.plans.size(), 1U);
  EXPECT_EQ(result.plans[0].result.plan, expected.plan);
  EXPECT_EQ(result.plans[0].cost_ms, expected.cost.cost_ms);
  EXPECT_EQ(result.plans[0].averaging_ms, 0.0);
}

TEST(DeviceGroups, TheBestIsNoDearerThanAnyThatIsAskedForAlone) {
  Task task = grouped_task(8);
  task.devices_per_node = 4;
  const GroupsResult all = groups_planner().plan_groups(task, {.iterations = 50.0});
  ASSERT_TRUE(all.best);
  const GroupsPlan& best = all.plans[*all.best];
  EXPECT_GE(all.plans.size(), 3U);
  for (const GroupsPlan& plan : all.plans) {
    SCOPED_TRACE(plan.groups.size);
    const GroupsResult alone = groups_planner().plan_groups(
        task, {.sizes = {plan.groups.size}, .layouts = {plan.groups.layout}, .iterations = 50.0});
    ASSERT_EQ(alone.plans.size(), 1U);
    EXPECT_EQ(alone.plans[0].cost_ms, plan.cost_ms);
    EXPECT_LE(best.cost_ms, plan.cost_ms);
  }
}

// The figures by what slices have, and a price of what is stored that evens it out.
TEST(DeviceGroups, NoSizeHasMoreTimeThanThereIs) {
  const auto passed = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const GroupsResult result =
      groups_planner().plan_groups(grouped_task(16), {.plan = {.deadline = passed}});
  for (const GroupsPlan& plan : result.plans) EXPECT_FALSE(plan.result.complete);
}

TEST(DeviceGroups, AveragingIsPricedAndEvenedOut) {
  Task task = grouped_task(32);
  task.tables[0].memory.optimizer = Optimizer::kAdam;
  const Planner planner(builtin_weights(), {.threads = 2});
  const auto plan_for = [&](double iterations) {
    GroupsResult result = planner.plan_groups(
        task, {.sizes = {8}, .layouts = {GroupLayout::kConsecutive}, .iterations = iterations});
    return std::move(result.plans.at(0));
  };
  const auto stored_by_hand = [&](const GroupsPlan& plan) {
    std::vector<double> bytes(8, 0.0);
    for (std::size_t d = 0; d < 8; ++d) {
      for (const int index : plan.result.plan->shards[d]) {
        const TableSlice& slice = plan.result.plan->slices[static_cast<std::size_t>(index)];
        const double copies = slice.table == 0 ? 3.0 : 1.0;  // Adam has two of each element.
        bytes[d] += 4.0 * copies * static_cast<double>(slice.rows) * slice.dim;
      }
      for (const int t : plan.result.plan->replicas) {
        const Table& table = task.tables[static_cast<std::size_t>(t)];
        bytes[d] += 4.0 * (t == 0 ? 3.0 : 1.0) * static_cast<double>(table.rows) * table.dim;
      }
    }
    return std::ranges::max(bytes);
  };
  const GroupsPlan often = plan_for(1.0);
  const GroupsPlan seldom = plan_for(1e6);
  for (const GroupsPlan* plan : {&often, &seldom}) {
    ASSERT_TRUE(plan->result.plan);
    EXPECT_EQ(plan->copies, 4);
    EXPECT_EQ(static_cast<double>(plan->averaged_bytes), stored_by_hand(*plan));
    const AveragingTime time = averaging_time(task, plan->groups, kNodesOfEight);
    EXPECT_NEAR(plan->averaging_ms,
                time.latency_ms + time.ms_per_gib * gib_from_bytes(plan->averaged_bytes),
                1e-3 * plan->averaging_ms);
    EXPECT_DOUBLE_EQ(plan->cost_ms,
                     plan->result.cost.cost_ms + plan->averaging_ms / plan->iterations);
  }
  EXPECT_LT(often.averaged_bytes, seldom.averaged_bytes);
  EXPECT_GE(often.result.cost.cost_ms, seldom.result.cost.cost_ms);
  std::int64_t all = 0;
  for (const Table& table : task.tables)
    all += table.size_bytes() - slice_memory(table, table.dim).buffer_bytes;
  EXPECT_LT(static_cast<double>(often.averaged_bytes), 1.1 * static_cast<double>(all) / 8.0);
}

TEST(DeviceGroups, AveragingTakesItsShare) {
  const Task task = grouped_task(32);
  const GroupsResult result = groups_planner().plan_groups(task, {.sizes = {8, 16}, .share = 0.02});
  ASSERT_FALSE(result.plans.empty());
  for (const GroupsPlan& plan : result.plans) {
    const double share = plan.averaging_ms / plan.iterations / plan.result.cost.cost_ms;
    EXPECT_LE(share, 0.02);
    EXPECT_GT(share, 0.02 * (1.0 - 1.0 / plan.iterations));
  }
}

TEST(DeviceGroups, WeightsAloneTakeLess) {
  Task task = grouped_task(16);
  for (Table& table : task.tables) table.memory.optimizer = Optimizer::kAdagrad;
  GroupsRequest request{.sizes = {8}, .layouts = {GroupLayout::kConsecutive}, .iterations = 100.0};
  const GroupsPlan both = groups_planner().plan_groups(task, request).plans.at(0);
  request.optimizer_state = false;
  const GroupsPlan alone = groups_planner().plan_groups(task, request).plans.at(0);
  EXPECT_EQ(both.averaged_bytes % 2, 0);
  EXPECT_LT(static_cast<double>(alone.averaged_bytes),
            0.6 * static_cast<double>(both.averaged_bytes));
}

/// Rows of `table` that so many samples look up at least once, part by part of its curve.
double touched_by_hand(const Table& table, double samples) {
  double touched = 0.0;
  PopularRows last;
  for (const PopularRows& point : table.popularity) {
    const double rows = point.rows - last.rows;
    const double lookups = samples * table.pooling_factor * (point.share - last.share) / rows;
    touched += rows * (1.0 - std::exp(-lookups));
    last = point;
  }
  return touched;
}

TEST(DeviceGroups, TouchedRowsAreAveragedWithAByteForEachRow) {
  constexpr std::int64_t kRows = 40'000'000;
  Task task = grouped_task(16);
  task.tables.resize(2);
  for (Table& table : task.tables) {
    table.rows = kRows;
    table.dim = 64;
    table.pooling_factor = 2.0;
    table.popularity = {{1000.0, 0.5}, {1e6, 0.9}, {4e7, 1.0}};
    table.rules.kinds = {ShardingKind::kTable};  // A device has one of them.
  }
  set_memory(task, bytes_from_gib(40.0));
  const auto averaged_after = [&](double iterations, bool touched_rows) {
    const GroupsResult result =
        groups_planner().plan_groups(task, {.sizes = {2},
                                            .layouts = {GroupLayout::kConsecutive},
                                            .iterations = iterations,
                                            .touched_rows = touched_rows});
    return result.plans.at(0).averaged_bytes;
  };
  const SliceMemory memory = slice_memory(task.tables[0], 64);
  const std::int64_t all = memory.weight_bytes + memory.optimizer_bytes;
  EXPECT_EQ(averaged_after(100.0, false), all);
  const double touched =
      touched_by_hand(task.tables[0], 100.0 * static_cast<double>(task.batch_size));
  ASSERT_LT(touched, 0.5 * kRows);
  const double expected = touched / kRows * static_cast<double>(all) + kRows;
  EXPECT_NEAR(static_cast<double>(averaged_after(100.0, true)), expected, 1e-6 * expected);
  EXPECT_EQ(averaged_after(1e8, true), all + kRows);  // In time all rows are touched.
}

// One iteration less would be too few.
TEST(DeviceGroups, AveragingOfTouchedRowsTakesItsShare) {
  const Task task = grouped_task(32);
  const GroupsPlan plan = groups_planner()
                              .plan_groups(task, {.sizes = {8},
                                                  .layouts = {GroupLayout::kConsecutive},
                                                  .share = 0.5,
                                                  .touched_rows = true})
                              .plans.at(0);
  const double most_ms = 0.5 * plan.result.cost.cost_ms;
  ASSERT_GT(plan.iterations, 1.0);
  EXPECT_LE(plan.averaging_ms / plan.iterations, most_ms);
  const auto bytes_after = [&](double iterations) {
    const StoragePrice touched{.touched_in_samples =
                                   iterations * static_cast<double>(task.batch_size)};
    return std::ranges::max(stored_bytes(touched, plan.task, *plan.result.plan));
  };
  EXPECT_EQ(bytes_after(plan.iterations), plan.averaged_bytes);
  const double fewer = plan.iterations - 1.0;
  const AveragingTime time = averaging_time(task, plan.groups, kNodesOfEight);
  EXPECT_GT(time.ms(gib_from_bytes(bytes_after(fewer))) / fewer, most_ms);
}

TEST(DeviceGroups, SizesThatCannotBeAreLeftOutOrSaid) {
  Task task = grouped_task(12);
  task.devices_per_node = 4;
  set_memory(task, 2 * total_bytes(task) / 5);
  const GroupsResult result = groups_planner().plan_groups(task, {.iterations = 100.0});
  EXPECT_FALSE(result.plans.empty());
  EXPECT_THAT(result.left_out, ::testing::Contains(HasSubstr("2: tables take")));
  EXPECT_THAT(result.left_out, ::testing::Contains(HasSubstr("1: tables take")));
  const auto error_of = [&](const GroupsRequest& request) {
    return message_of([&] { (void)groups_planner().plan_groups(task, request); });
  };
  EXPECT_THAT(error_of({.sizes = {5}}), HasSubstr("groups of 5 devices do not divide the 12"));
  EXPECT_THAT(error_of({.sizes = {0}}), HasSubstr("give a divisor"));
  EXPECT_THAT(error_of({.sizes = {3}}), HasSubstr("do not fit nodes of 4"));
  EXPECT_THAT(error_of({.sizes = {4}}), HasSubstr("interleaved, do not fit nodes of 4"));
  EXPECT_THAT(error_of({.share = 0.0}), HasSubstr("the share of averaging is 0"));
  EXPECT_THAT(error_of({.iterations = 0.5}), HasSubstr("averaging comes after 0.5 iterations"));
  EXPECT_THAT(error_of({.iterations = std::nan("")}), HasSubstr("iterations"));
  EXPECT_THAT(error_of({.plan = {.storage = {.ms_per_gib = 1.0}}}), HasSubstr("leave that price"));
  const auto touched_by = [&](double samples) {
    return message_of(
        [&] { (void)groups_planner().plan(task, {.storage = {.touched_in_samples = samples}}); });
  };
  EXPECT_THAT(touched_by(-1.0), HasSubstr("samples touch; give between 0 and 1e18"));
  EXPECT_THAT(touched_by(std::nan("")), HasSubstr("samples touch"));
  task.tables[1].rules.devices = {0, 1};
  EXPECT_THAT(error_of({.sizes = {4}}), HasSubstr("has rules that name devices"));
  EXPECT_NO_THROW((void)groups_planner().plan_groups(task, {.sizes = {12}}));
}

TEST(DeviceGroups, ListedDevicesHaveToBeAlike) {
  Task task = grouped_task(8);
  task.devices_per_node = 2;
  task.device_list.assign(8, {.memory_bytes = bytes_from_gib(8.0)});
  for (std::size_t d = 0; d < 8; d += 2) task.device_list[d].memory_bytes = bytes_from_gib(6.0);
  const DeviceGroups next{4, GroupLayout::kConsecutive};
  EXPECT_EQ(task_of_group(task, next, kNodesOfEight).device_list,
            std::vector<Device>(task.device_list.begin(), task.device_list.begin() + 4));
  const auto error = message_of([&] {
    (void)task_of_group(task, {4, GroupLayout::kInterleaved}, kNodesOfEight);
  });
  EXPECT_THAT(error, HasSubstr("differ: device 1 is not as device 0"));
}

}  // namespace
}  // namespace neuroshard
