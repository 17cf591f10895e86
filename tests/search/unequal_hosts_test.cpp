// Hosts whose memory the devices of a node share, and hosts that differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "message_of.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/host_memory.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "repetitions.h"
#include "search/hosted_task.h"
#include "search/planned_cuts.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::hosted_task;
using testing::message_of;
using testing::planner_of;

TEST(HostMemory, OfANodeIsSharedAsDevicesNeedIt) {
  for (const HostPolicy policy : all_host_policies()) {
    Task task{.devices = 4, .devices_per_node = 2};
    for (const std::int64_t rows : {8'000'000, 1'000'000, 5'000'000, 500'000}) {
      Table& table = task.tables.emplace_back(
          Table{.name = {}, .rows = rows, .dim = 64, .pooling_factor = 10.0});
      table.access_histogram = zipf_histogram(rows, table.pooling_factor);
      table.rules.no_split = true;
      table.rules.kinds = {ShardingKind::kTable};
    }
    const std::int64_t largest = task.tables[0].size_bytes();
    task.memory_bytes = largest / 4;
    // Each node has room for either large table, and for a small one.
    task.host = {.bytes = largest * 9 / 8, .link_gb_s = 25.0, .policy = policy, .of_node = true};
    const Planner planner = planner_of(Effort::kFast);
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan) << result.infeasible->message;
    EXPECT_TRUE(result.cost.fits_memory);
    EXPECT_TRUE(check_plan(*result.plan, task).empty());
    const auto most = std::ranges::max(result.cost.devices, {}, &DeviceCost::host_bytes);
    EXPECT_GT(most.host_bytes, task.host.bytes / 2);
    // Equal parts are too small for the largest table.
    Task even = task;
    even.host.of_node = false;
    even.host.bytes /= 2;
    EXPECT_TRUE(planner.plan(even).infeasible);
    // Both large tables on one node: more than its host has.
    Plan crowded{.slices = whole_tables(task), .shards = {{0}, {2}, {1}, {3}}};
    EXPECT_FALSE(planner.simulate(task, crowded).fits_memory);
    task.memory_bytes = largest / 16;
    const std::vector<PlanProblem> problems = check_plan(crowded, task);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(problems[0].message(), HasSubstr(" of HBM or host memory"));
    task.host.bytes = largest / 2;
    const PlanResult refused = planner.plan(task);
    ASSERT_TRUE(refused.infeasible);
    EXPECT_EQ(refused.infeasible->kind, Infeasibility::Kind::kTotalMemory);
  }
}

TEST(HostMemory, OfANodeStaysSharedWhereNothingChanges) {
  const Planner planner = planner_of(Effort::kFast);
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(60); ++seed) {
    Task task = hosted_task(seed, 0.2);
    task.devices_per_node = task.devices / 2;
    const std::int64_t total = total_bytes(task);
    // Some 0.8 of a node's tables wait.
    task.host = {
        .bytes = total * 9 / 20, .link_gb_s = 2.0, .policy = HostPolicy::kStatic, .of_node = true};
    const PlanResult running = planner.plan(task);
    ASSERT_TRUE(running.plan) << seed;
    const ReplanResult result = planner.replan(task, {.task = task, .plan = *running.plan},
                                               {.plan = {}, .most_moved_bytes = total / 4});
    ASSERT_TRUE(result.result.plan) << seed;
    EXPECT_LE(result.result.cost.cost_ms, running.cost.cost_ms) << seed;
  }
}

TEST(HostMemory, OfDevicesThatDifferIsUsedByWhatEachHas) {
  for (const bool prefetch : {false, true}) {
    Task task = hosted_task(11, 0.2);
    task.host.prefetch = prefetch;
    const Planner planner = planner_of(Effort::kFast);
    const auto cost_ms = [&](double gb_s) {
      Task changed = task;
      changed.host.link_gb_s = gb_s;
      return planner.plan(changed).cost.cost_ms;
    };
    const auto devices = static_cast<std::size_t>(task.devices);
    task.device_list.assign(devices, {.memory_bytes = task.memory_bytes});
    // As the task says, or as all devices do, is the same.
    const double alike_ms = cost_ms(2.0);
    for (Device& device : task.device_list) device.host_link_gb_s = 2.0;
    EXPECT_EQ(cost_ms(2.0), alike_ms);
    // Half of them have faster links: more is fetched there, and plans cost less than without.
    for (std::size_t d = 0; d < devices; d += 2) task.device_list[d].host_link_gb_s = 8.0;
    task.host.link_gb_s = 2.0;
    const PlanResult mixed = planner.plan(task);
    ASSERT_TRUE(mixed.plan);
    EXPECT_LT(mixed.cost.cost_ms, alike_ms);
    EXPECT_EQ(mixed.cost.cost_ms, planner.simulate(task, *mixed.plan).cost_ms);
    std::array<double, 2> fetched{};
    for (std::size_t d = 0; d < devices; ++d) {
      fetched[d % 2] += mixed.cost.devices[d].fetch_ms * (d % 2 == 0 ? 4.0 : 1.0);
    }
    EXPECT_GT(fetched[0], 1.1 * fetched[1]);
    EXPECT_NE(fingerprint(task, {}, builtin_weights()),
              fingerprint(hosted_task(11, 0.2), {}, builtin_weights()));
    set_memory(task, 2 * total_bytes(task));
    const PlanResult in_hbm = planner.plan(task);
    task.device_list.clear();
    EXPECT_EQ(in_hbm.cost.cost_ms, planner.plan(task).cost.cost_ms);
  }
}

TEST(HostMemory, OfNodesThatDifferIsSharedWithinEach) {
  Task task = hosted_task(3, 0.2);
  task.devices = 4;
  task.devices_per_node = 2;
  task.memory_bytes = total_bytes(task) / 16;
  task.host.of_node = true;
  task.host.bytes = total_bytes(task) / 4;
  EXPECT_TRUE(planner_of(Effort::kFast).plan(task).infeasible);
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  task.device_list[2].host_bytes = total_bytes(task);
  EXPECT_THAT(message_of([&] { validate(task, "a.json"); }),
              AllOf(HasSubstr("a.json: device 3: host_gb is"), HasSubstr("others of its node")));
  task.device_list[3].host_bytes = total_bytes(task);
  const PlanResult result = planner_of(Effort::kFast).plan(task);
  ASSERT_TRUE(result.plan) << result.infeasible->message;
  EXPECT_TRUE(result.cost.fits_memory);
  EXPECT_TRUE(check_plan(*result.plan, task).empty());
  const auto in_host = [&](std::size_t node) {
    return result.cost.devices[2 * node].host_bytes + result.cost.devices[2 * node + 1].host_bytes;
  };
  EXPECT_LE(in_host(0), task.host.bytes);
  EXPECT_GT(in_host(1), task.host.bytes);
  std::swap(task.device_list[0], task.device_list[2]);
  std::swap(task.device_list[1], task.device_list[3]);
  EXPECT_FALSE(check_plan(*result.plan, task).empty());
  EXPECT_FALSE(planner_of(Effort::kFast).simulate(task, *result.plan).fits_memory);
}

}  // namespace
}  // namespace neuroshard
