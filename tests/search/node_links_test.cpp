// Nodes that are connected otherwise than in the network that the cost models know.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/random.h"
#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::random_task;

Task task_on_nodes(std::uint64_t seed, int devices) {
  Task task = random_task(seed);
  task.devices = devices;
  task.devices_per_node = 4;
  task.memory_bytes = std::int64_t{1} << 40;
  task.reserved = {};
  task.links = NodeLinks{.node_gb_s = 10.0};
  return task;
}

TEST(NodeLinks, PlansFollowThem) {
  const Planner planner(builtin_weights(), {.threads = 1});
  double unaware_ms = 0.0;
  double aware_ms = 0.0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(6))) {
    const Task task = task_on_nodes(seed, 16);
    Task unaware = task;
    unaware.links.reset();
    const PlanResult without = planner.plan(unaware);
    const PlanResult with = planner.plan(task);
    ASSERT_TRUE(without.plan && with.plan);
    EXPECT_EQ(planner.simulate(task, *with.plan).cost_ms, with.cost.cost_ms);
    EXPECT_EQ(planner.simulate(unaware, *without.plan).cost_ms, without.cost.cost_ms);
    const double told_ms = planner.simulate(task, *without.plan).cost_ms;
    EXPECT_LE(with.cost.cost_ms, told_ms);
    const std::vector<Task> both{task, unaware};
    const std::vector<PlanOutcome> batch = planner.plan_batch(both);
    EXPECT_EQ(batch[0]->plan, with.plan);
    EXPECT_EQ(batch[1]->plan, without.plan);
    unaware_ms += told_ms;
    aware_ms += with.cost.cost_ms;
  }
  EXPECT_LT(aware_ms, 0.9 * unaware_ms);
}

// Devices of a node that share what connects it may take each other's place, and whole nodes may;
// devices of two nodes may not.
// With rules and by columns alone, too, whatever the effort.
TEST(NodeLinks, NoPlanIsDearerThanOneThatLeavesThemOut) {
  int cheaper = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(20))) {
    Random random(seed, 71);
    Task task = testing::random_task_of_all_kinds(seed);
    task.devices = 4 << random.below(3);
    task.devices_per_node = 2 << random.below(2);
    task.memory_bytes = total_bytes(task);
    if (random.below(3) == 0) testing::add_random_rules_to_tables(task, random);
    if (random.below(3) == 0) testing::add_random_groups(task, 2, random);
    task.links =
        random.below(2) == 0 ? NodeLinks{.node_gb_s = 5.0} : NodeLinks{.between_nodes_gb_s = 2.0};
    Task unaware = task;
    if (random.below(3) == 0) {  // Levels are left out before the rest of links.
      task.links->levels = {{.devices = 2 * task.devices_per_node, .gb_s = 0.5}};
      unaware.links = task.links;
      unaware.links->levels.clear();
    } else {
      unaware.links.reset();
      unaware.exchange.deduplicate_by_table = false;  // Both are left out together.
    }
    const Planner planner(builtin_weights(),
                          {.effort = seed % 2 == 0 ? Effort::kFast : Effort::kDefault,
                           .cuts = seed % 3 == 0 ? std::optional(Cuts::kColumns) : std::nullopt,
                           .threads = 1});
    const PlanResult without = planner.plan(unaware);
    const PlanResult with = planner.plan(task);
    ASSERT_EQ(with.plan.has_value(), without.plan.has_value());
    if (!with.plan) continue;
    const double told_ms = planner.simulate(task, *without.plan).cost_ms;
    EXPECT_LE(with.cost.cost_ms, told_ms);
    EXPECT_EQ(planner.simulate(task, *with.plan).cost_ms, with.cost.cost_ms);
    EXPECT_EQ(planner.plan_batch({&task, 1}).front()->plan, with.plan);
    cheaper += with.cost.cost_ms < 0.99 * told_ms ? 1 : 0;
  }
  EXPECT_TRUE(cheaper > 0 || testing::kFewTasks);  // Few tasks may have none.
}

TEST(NodeLinks, CostsDependOnWhichDevicesShareANode) {
  const Planner planner(builtin_weights(), {.cuts = Cuts::kColumns, .threads = 1});
  Task task = task_on_nodes(3, 8);
  PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  Plan plan = *result.plan;
  // One node is idle.
  for (std::size_t d = 4; d < 8; ++d) {
    auto& to = plan.shards[d - 4];
    to.insert(to.end(), plan.shards[d].begin(), plan.shards[d].end());
    plan.shards[d].clear();
  }
  const double idle_ms = planner.simulate(task, plan).cost_ms;
  std::swap(plan.shards[0], plan.shards[3]);
  EXPECT_NEAR(planner.simulate(task, plan).cost_ms, idle_ms, 1e-4 * idle_ms);
  for (std::size_t d = 0; d < 4; ++d) std::swap(plan.shards[d], plan.shards[d + 4]);
  EXPECT_NEAR(planner.simulate(task, plan).cost_ms, idle_ms, 1e-4 * idle_ms);
  std::swap(plan.shards[0], plan.shards[4]);
  std::swap(plan.shards[1], plan.shards[5]);
  const double spread_ms = planner.simulate(task, plan).cost_ms;
  EXPECT_LT(spread_ms, 0.9 * idle_ms);
  // Anywhere it is all the same.
  task.links.reset();
  const double anywhere_ms = planner.simulate(task, plan).cost_ms;
  std::swap(plan.shards[1], plan.shards[5]);
  EXPECT_EQ(planner.simulate(task, plan).cost_ms, anywhere_ms);
}

TEST(NodeLinks, PlansAreTheSameOnEveryBackendAndNumberOfThreads) {
  const Task task = task_on_nodes(3, 12);
  const PlanResult expected =
      Planner(builtin_weights(), {.effort = Effort::kFast, .backend = "scalar", .threads = 1})
          .plan(task);
  ASSERT_TRUE(expected.plan);
  struct Way {
    int threads;
    bool reuse_work;
  };
  for (const std::string& backend : available_cpu_backends()) {
    for (const Way& way : {Way{1, true}, Way{3, true}, Way{1, false}}) {
      if (backend == "scalar" && way.threads == 1) continue;  // Slow, and what is expected.
      const PlanResult result = Planner(builtin_weights(), {.effort = Effort::kFast,
                                                            .backend = backend,
                                                            .threads = way.threads,
                                                            .reuse_work = way.reuse_work})
                                    .plan(task);
      EXPECT_EQ(result.plan, expected.plan) << backend << ", " << way.threads << " threads";
      EXPECT_EQ(result.cost.cost_ms, expected.cost.cost_ms);
    }
  }
}

TEST(NodeLinks, BatchesHaveThePlansOfSingleTasks) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast});
  std::vector<Task> tasks;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    tasks.push_back(task_on_nodes(seed, 8 + 4 * static_cast<int>(seed % 2)));
    if (seed % 3 == 0) tasks.back().links.reset();
    if (seed % 3 == 1) tasks.back().links->in_node_gb_s = 20.0;
  }
  std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
  ASSERT_EQ(outcomes.size(), tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(std::move(outcomes[i]).value().plan, planner.plan(tasks[i]).plan) << i;
  }
}

// More settings than a planner keeps backends for, in turn.
TEST(NodeLinks, OneRequestMayHaveManySettings) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  Task task = task_on_nodes(6, 8);
  std::vector<double> costs;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) {
      task.links = NodeLinks{.node_gb_s = 40.0 / (1 + i)};
      const double cost_ms = planner.plan(task).cost.cost_ms;
      if (round == 0) costs.push_back(cost_ms);
      EXPECT_EQ(cost_ms, costs[static_cast<std::size_t>(i)]);
    }
  }
  // The slower links are, the dearer.
  for (std::size_t i = 1; i < costs.size(); ++i) EXPECT_GT(costs[i], 0.99 * costs[i - 1]);
  EXPECT_GT(costs.back(), 1.5 * costs.front());
}

TEST(NodeLinks, ReplanningAndWhatIfsKnowThem) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = task_on_nodes(7, 8);
  const PlanResult running = planner.plan(task);
  ASSERT_TRUE(running.plan);
  Task changed = task;
  changed.links->node_gb_s = 2.0;
  const ReplanResult replanned = planner.replan(changed, {task, *running.plan}, {});
  ASSERT_TRUE(replanned.result.plan);
  EXPECT_EQ(planner.simulate(changed, *replanned.result.plan).cost_ms,
            replanned.result.cost.cost_ms);
  EXPECT_LE(replanned.result.cost.cost_ms, planner.simulate(changed, *running.plan).cost_ms);
  EXPECT_EQ(planner.explain(changed, *running.plan).cost.cost_ms,
            planner.simulate(changed, *running.plan).cost_ms);
}

// Columns are so dear without the links that models have no costs for them.
TEST(NodeLinks, AnErrorOfThePlanWithoutThemIsSaid) {
  CostModels models = testing::random_models(5, {.comm = {}, .devices = {}});
  set_known_network(models, NodeNetwork{8, {300.0, 25.0}});
  auto& forward = std::get<SymmetricCommNetwork>(models.symmetric_comm->forward);
  std::ranges::fill(forward.features.mean, 0.0F);
  std::ranges::fill(forward.features.std, 1.0F);
  DenseLayer& layer = forward.network.layers.front();
  std::ranges::fill(layer.weight, 0.0F);
  layer.weight.front() = 1e9F;  // Weight of a device's own columns.
  layer.bias.front() = 0.0F;
  Task task = task_on_nodes(3, 16);
  task.links = NodeLinks{.in_node_gb_s = 1e6, .between_nodes_gb_s = 1e6};
  const Planner planner(std::move(models), {.threads = 1});
  Task unlinked = task;
  unlinked.links.reset();
  const std::string error = testing::message_of([&] { (void)planner.plan(unlinked); });
  const std::vector<Task> tasks{task};
  for (const PlanOutcome& outcome :
       {PlanOutcome(planner.plan(task)), planner.plan_batch(tasks).front()}) {
    ASSERT_TRUE(outcome && outcome->plan);
    EXPECT_EQ(outcome->stats.warning,
              "the plan without the task's links and deduplication was not considered, because its "
              "search ended with "
              "an error: " +
                  error);
  }
}

}  // namespace
}  // namespace neuroshard
