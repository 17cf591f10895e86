// Plans of random tasks of all kinds, recounted (plan_recount.h). NEUROSHARD_RANDOM_TASKS sets how
// many tasks, and NEUROSHARD_FIRST_RANDOM_TASK with which seed they begin (docs/testing.md).
#include "search/plan_recount.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/base/random.h"
#include "core/tables/exchange_fields.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

void add_random_links(Task& task, Random& random) {
  const auto gb_s = [&](double most) {
    return random.below(2) == 0 ? 0.0 : 1.0 + most * random.uniform();
  };
  task.links =
      NodeLinks{.in_node_gb_s = gb_s(300), .between_nodes_gb_s = gb_s(50), .node_gb_s = gb_s(200)};
}

void add_random_exchange(Task& task, std::uint64_t seed) {
  Random random(seed, 25);
  task.exchange = {.forward = kValueTypes[random.below(kValueTypes.size())],
                   .backward = kValueTypes[random.below(kValueTypes.size())],
                   .ids = kIdTypes[random.below(kIdTypes.size())],
                   .forward_share = random.below(2) == 0 ? 1.0 : 0.01,
                   .backward_share = random.below(2) == 0 ? 1.0 : 0.05};
}

void add_random_overlap(Task& task, std::uint64_t seed) {
  Random random(seed, 26);
  const auto ms = [&] { return random.below(2) == 0 ? 0.0 : 3.0 * random.uniform(); };
  task.overlap = {.ids = random.below(2) == 0,
                  .dense_ms = ms(),
                  .dense_beside_outputs_ms = ms(),
                  .dense_beside_gradients_ms = ms(),
                  .host_ms = ms()};
}

Task task_of_seed(std::uint64_t seed) {
  Task task = testing::random_task_of_all_kinds(seed);
  Random random(seed, 23);
  if (random.below(2) == 0) testing::add_random_rules(task, random);
  Random of_links(seed, 24);
  if (of_links.below(4) == 0) add_random_links(task, of_links);
  if (seed % 5 == 2) add_random_exchange(task, seed);
  if (seed % 3 == 1) add_random_overlap(task, seed);
  if (seed % 4 == 3) testing::add_host_memory(task, seed);
  Random of_groups(seed, 31);
  if (of_groups.below(3) == 0) {
    testing::add_random_groups(task, 1 + of_groups.below(4), of_groups);
  }
  return task;
}

/// With rules, kinds, unequal devices, groups and links at once, on nodes of any size.
Task task_with_everything(std::uint64_t seed) {
  Task task = testing::random_task_of_all_kinds(seed);
  Random random(seed, 41);
  task.devices_per_node = 1 + static_cast<int>(random.below(9));
  testing::add_random_rules_to_tables(task, random);
  if (random.below(2) == 0) testing::add_random_node_rules(task, random);
  testing::add_random_devices(task, random);
  if (random.below(2) == 0) testing::add_random_kinds(task, random);
  add_random_links(task, random);
  add_random_exchange(task, seed);
  add_random_overlap(task, seed);
  testing::add_random_groups(task, 1 + random.below(4), random);
  return task;
}

struct Seen {
  std::uint64_t tasks = 0;
  int plans = 0;
  int row_blocks = 0;
  int skewed_blocks = 0;
  int replicas = 0;
  int gathered = 0;
  int infeasible = 0;
  int on_nodes = 0;   ///< Whose links are stated.
  int exchanges = 0;  ///< Whose types on the wire are.
  int hidden = 0;     ///< Where ids are hidden.
  int groups = 0;
  int hosts = 0;               ///< Whose rows wait there,
  int ssds = 0;                ///< or on SSDs,
  int pools = 0;               ///< or in hosts that devices share as they need it.
  int unequal_hosts = 0;       ///< Hosts whose links differ,
  int unequal_row_blocks = 0;  ///< On devices that differ,
  int unequal_replicas = 0;    ///< and such replicas.
};

void expect_sound(const Task& task, const Planner& planner, Seen& seen) {
  const PlanResult result = planner.plan(task);
  ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
  if (!result.plan) {
    ++seen.infeasible;
    EXPECT_FALSE(result.infeasible->message.empty());
    EXPECT_FALSE(testing::first_fit_finds_room(task)) << result.infeasible->message;
    return;
  }
  const Plan& plan = *result.plan;
  testing::expect_recounts(task, plan, result.cost);
  const PlanCost priced = planner.simulate(task, plan);
  EXPECT_EQ(priced.cost_ms, result.cost.cost_ms);
  EXPECT_EQ(priced.warning, result.cost.warning);
  for (std::size_t d = 0; d < priced.devices.size(); ++d) {
    EXPECT_EQ(priced.devices[d].total_ms(), result.cost.devices[d].total_ms());
    EXPECT_EQ(priced.devices[d].memory, result.cost.devices[d].memory);
  }
  ++seen.plans;
  seen.on_nodes += task.links ? 1 : 0;
  seen.exchanges += task.exchange == ExchangeTypes{} ? 0 : 1;
  seen.hidden += result.cost.devices[0].hidden_ms > 0.0 ? 1 : 0;
  seen.groups += task.groups.empty() ? 0 : 1;
  seen.hosts += std::ranges::any_of(result.cost.devices,
                                    [](const DeviceCost& of) { return of.host_bytes > 0; })
                    ? 1
                    : 0;
  seen.ssds += std::ranges::any_of(result.cost.devices,
                                   [](const DeviceCost& of) { return of.ssd_bytes > 0; })
                   ? 1
                   : 0;
  seen.pools += task.host.of_node && task.host.ssd_bytes == 0 ? 1 : 0;
  seen.unequal_hosts +=
      std::ranges::any_of(task.device_list,
                          [](const Device& device) { return device.host_link_gb_s > 0.0; })
          ? 1
          : 0;
  seen.row_blocks += has_row_blocks(task, plan) ? 1 : 0;
  seen.skewed_blocks +=
      std::ranges::any_of(
          plan.slices,
          [&](const TableSlice& slice) {
            return is_row_block(task, slice) &&
                   task.tables[static_cast<std::size_t>(slice.table)].row_shares.size() > 1;
          })
          ? 1
          : 0;
  seen.replicas += plan.replicas.empty() ? 0 : 1;
  if (!has_equal_devices(task)) {
    seen.unequal_row_blocks += has_row_blocks(task, plan) ? 1 : 0;
    seen.unequal_replicas += plan.replicas.empty() ? 0 : 1;
  }
  seen.gathered +=
      std::ranges::any_of(plan.replicas,
                          [&](int t) {
                            return task.tables[static_cast<std::size_t>(t)].replica_gradients ==
                                   ReplicaGradients::kTouched;
                          })
          ? 1
          : 0;
}

Seen seen_in_plans_of_random_tasks(Task (*task_of)(std::uint64_t)) {
  const auto planner_of = [](CostModels models, Effort effort) {
    return Planner(std::move(models), {.effort = effort, .cuts = Cuts::kAny, .threads = 1});
  };
  const Planner fast = planner_of(builtin_weights(), Effort::kFast);
  const Planner longer = planner_of(builtin_weights(), Effort::kDefault);
  // Models that know nothing of what is plausible, negative costs among what they predict.
  CostModels strange_models = testing::random_models(5, {.any_batch = true});
  set_known_network(strange_models, NodeNetwork{8, {300.0, 25.0}});
  const Planner strange = planner_of(std::move(strange_models), Effort::kFast);
  Seen seen;
  const auto [first, end] = testing::random_task_seeds(testing::drawn_tasks(80));
  for (std::uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE(seed);
    expect_sound(task_of(seed), seed % 16 == 0 ? longer : seed % 4 == 1 ? strange : fast, seen);
    if (::testing::Test::HasFatalFailure()) return seen;
  }
  seen.tasks = end - first;
  ::testing::Test::RecordProperty("plans", seen.plans);
  ::testing::Test::RecordProperty("row_blocks", seen.row_blocks);
  ::testing::Test::RecordProperty("skewed_blocks", seen.skewed_blocks);
  ::testing::Test::RecordProperty("replicas", seen.replicas);
  ::testing::Test::RecordProperty("gathered", seen.gathered);
  ::testing::Test::RecordProperty("infeasible", seen.infeasible);
  ::testing::Test::RecordProperty("on_nodes", seen.on_nodes);
  ::testing::Test::RecordProperty("exchanges", seen.exchanges);
  ::testing::Test::RecordProperty("hidden", seen.hidden);
  ::testing::Test::RecordProperty("groups", seen.groups);
  ::testing::Test::RecordProperty("unequal_row_blocks", seen.unequal_row_blocks);
  ::testing::Test::RecordProperty("unequal_replicas", seen.unequal_replicas);
  return seen;
}

TEST(PlanRecount, PlansOfRandomTasksOfAllKindsAreSound) {
  const Seen seen = seen_in_plans_of_random_tasks(task_of_seed);
  // All kinds are there.
  if (seen.tasks < 30) return;
  EXPECT_GT(seen.plans, seen.infeasible);
  EXPECT_GT(seen.row_blocks, 0);
  EXPECT_GT(seen.skewed_blocks, 0);
  EXPECT_GT(seen.replicas, 0);
  EXPECT_GT(seen.gathered, 0);
  EXPECT_GT(seen.groups, 0);
  EXPECT_GT(seen.infeasible, 0);
  EXPECT_GT(seen.on_nodes, 0);
  EXPECT_GT(seen.exchanges, 0);
  EXPECT_GT(seen.hidden, 0);
  EXPECT_GT(seen.hosts, 0);
  EXPECT_GT(seen.ssds, 0);
  EXPECT_GT(seen.pools, 0);
  EXPECT_GT(seen.unequal_hosts, 0);
  EXPECT_TRUE(seen.unequal_row_blocks > 0 || testing::kFewTasks);  // Too few tasks.
  EXPECT_GT(seen.unequal_replicas, 0);
}

TEST(PlanRecount, PlansOfTasksWithEverythingAtOnceAreSound) {
  const Seen seen = seen_in_plans_of_random_tasks(task_with_everything);
  if (seen.tasks < 30) return;
  EXPECT_GT(seen.plans, 0);
  EXPECT_GT(seen.groups, 0);
  EXPECT_GT(seen.infeasible, 0);
  EXPECT_TRUE(seen.unequal_row_blocks > 0 || testing::kFewTasks);  // Too few tasks.
  EXPECT_GT(seen.unequal_replicas, 0);
  EXPECT_EQ(seen.on_nodes, seen.plans);
  EXPECT_GT(seen.exchanges, seen.plans / 2);
}

}  // namespace
}  // namespace neuroshard
