// Rules that name nodes.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/base/random.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_policies.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "tests/message_of.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::random_task;

// A rule on nodes is one on their devices.
TEST(NodeRules, AreThoseOnTheirDevices) {
  const auto algorithms = all_algorithms();
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    Random random(seed, 41);
    Task task = random_task(seed);
    task.devices_per_node = 2 + static_cast<int>(random.below(3));
    task.devices = 4 + static_cast<int>(random.below(9));
    const int nodes = (task.devices + task.devices_per_node - 1) / task.devices_per_node;
    Task expanded = task;
    bool any = false;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      if (random.below(2) == 0) continue;
      const int node = static_cast<int>(random.below(static_cast<std::size_t>(nodes)));
      const bool only = nodes == 1 || random.below(2) == 0;
      (only ? task.tables[t].rules.nodes : task.tables[t].rules.not_nodes) = {node};
      std::vector<int>& devices =
          only ? expanded.tables[t].rules.devices : expanded.tables[t].rules.not_devices;
      const int first = node * task.devices_per_node;
      for (int d = first; d < std::min(first + task.devices_per_node, task.devices); ++d) {
        devices.push_back(d);
      }
      any = true;
    }
    if (!any) continue;
    const Algorithm algorithm = algorithms[seed % algorithms.size()];
    const PlannerOptions options{.algorithm = algorithm,
                                 .effort = Effort::kFast,
                                 .threads = 1,
                                 .policy = testing::random_policy(algorithm)};
    const Planner planner(builtin_weights(), options);
    const PlanResult result = planner.plan(task);
    EXPECT_EQ(result.plan, planner.plan(expanded).plan);
    if (!result.plan) continue;
    EXPECT_THAT(check_plan(*result.plan, task), IsEmpty());
    if (options.algorithm != Algorithm::kNeuroshard) continue;
    Task changed = task;
    changed.tables[0].pooling_factor *= 1.5;
    Task changed_expanded = expanded;
    changed_expanded.tables[0].pooling_factor *= 1.5;
    if (has_row_blocks(task, *result.plan)) continue;
    EXPECT_EQ(planner.replan(changed, {task, *result.plan}, {}).result.plan,
              planner.replan(changed_expanded, {expanded, *result.plan}, {}).result.plan);
  }
}

TEST(NodeRules, OfNodesThatAreNoneAreErrors) {
  Task task = random_task(1);
  task.devices = 6;
  task.devices_per_node = 4;
  const auto error_of = [&](const TableRules& rules) {
    Task with = task;
    with.tables[0].rules = rules;
    return testing::message_of([&] { validate(with, "a.json"); });
  };
  task.tables[0].rules = {.nodes = {1}};
  EXPECT_NO_THROW(validate(task));
  EXPECT_THAT(error_of({.nodes = {2}}),
              HasSubstr("the rule nodes names node 2, but there are 2 nodes; count from 0"));
  EXPECT_THAT(error_of({.not_nodes = {-1}}), HasSubstr("the rule not_nodes names node -1"));
  EXPECT_THAT(error_of({.nodes = {1}, .not_nodes = {0, 1}}),
              HasSubstr("the rules nodes and not_nodes contradict each other: both name node 1"));
  EXPECT_THAT(error_of({.devices = {1, 2}, .nodes = {1}}),
              HasSubstr("the rules devices, nodes together rule out all 6 devices"));
  EXPECT_THAT(error_of({.not_nodes = {0, 1}}),
              HasSubstr("the rule not_nodes names all 6 devices, so that none is left"));
}

}  // namespace
}  // namespace neuroshard
