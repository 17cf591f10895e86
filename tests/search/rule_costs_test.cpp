#include "neuroshard/rule_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "neuroshard/plan_check.h"
#include "quick_planners.h"
#include "random_rules.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two large tables and a small one on three devices.
Task ruled_task() {
  Task task{.devices = 3, .memory_bytes = bytes_from_gib(1.0)};
  for (const std::int64_t rows : {1'000'000, 900'000, 1'000}) {
    Table table{.rows = rows, .dim = 64, .pooling_factor = 10.0};
    table.access_histogram[0] = 1.0;
    task.tables.push_back(table);
  }
  task.tables[0].name = "user";
  return task;
}

TEST(RuleCosts, ListEachRuleAndLeaveItOut) {
  Task task = ruled_task();
  EXPECT_THAT(rules_of(task), IsEmpty());
  task.tables[0].rules = {.no_split = true,
                          .min_width = 64,
                          .max_slices = 1,
                          .devices = {0, 1},
                          .not_devices = {2},
                          .nodes = {0},
                          .not_nodes = {1},
                          .kinds = {ShardingKind::kTable},
                          .keep_in_hbm = true,
                          .hbm_share = 0.5};
  task.tables[2].rules.max_slices = 2;
  task.groups = {{.tables = {1, 2}, .keep = Keep::kApart},
                 {.name = "pair", .tables = {0, 1}, .keep = Keep::kTogether}};
  const std::vector<TaskRule> rules = rules_of(task);
  ASSERT_EQ(rules.size(), all_rule_kinds().size() + 1);
  EXPECT_EQ(rules[0], (TaskRule{.kind = RuleKind::kNoSplit, .table = 0}));
  EXPECT_EQ(rules[10], (TaskRule{.kind = RuleKind::kMaxSlices, .table = 2}));
  EXPECT_EQ(rules[11], (TaskRule{.kind = RuleKind::kApart, .group = 0}));
  EXPECT_EQ(rules[12], (TaskRule{.kind = RuleKind::kTogether, .group = 1}));
  for (const TaskRule& rule : rules) {
    std::vector<TaskRule> others = rules;
    std::erase(others, rule);
    for (TaskRule& other : others) {
      if (rule.group >= 0 && other.group > rule.group) --other.group;
    }
    EXPECT_EQ(rules_of(task_without(task, rule)), others) << rule_text(task, rule);
  }
  EXPECT_EQ(rule_text(task, rules[1]), "table 0 ('user'): min_width 64");
  EXPECT_EQ(rule_text(task, rules[3]), "table 0 ('user'): devices 0, 1");
  EXPECT_EQ(rule_text(task, rules[11]), "group 0: apart, table 1, table 2");
}

TEST(RuleCosts, AreWhatThePlanIsCheaperWithout) {
  // Both large tables on one device: only the group costs much, and the last rule nothing.
  Task task = ruled_task();
  for (Table& table : task.tables) table.rules.kinds = {ShardingKind::kTable};
  task.groups = {{.tables = {0, 1}, .keep = Keep::kTogether}};
  task.tables[2].rules.max_slices = 16;
  const CostModels models = testing::random_models(5);
  const Planner planner(models, {.effort = Effort::kFast, .threads = 1});
  const RuleCosts costs = costs_of_rules(planner, task);
  const std::vector<TaskRule> rules = rules_of(task);
  ASSERT_EQ(costs.rules.size(), rules.size());
  EXPECT_EQ(costs.with_ms, planner.plan(task).cost.cost_ms);
  EXPECT_EQ(costs.with.plan, planner.plan(task).plan);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    SCOPED_TRACE(rule_text(task, rules[i]));
    const RuleCost& cost = costs.rules[i];
    EXPECT_EQ(cost.rule, rules[i]);
    const double alone_ms = planner.plan(task_without(task, rules[i])).cost.cost_ms;
    EXPECT_EQ(cost.without_ms, std::min(costs.with_ms, alone_ms));
    EXPECT_EQ(costs.costs_ms(cost), costs.with_ms - cost.without_ms);
  }
  EXPECT_EQ(costs.costs_ms(costs.rules[3]), 0.0);  // max_slices of a table in one.
  EXPECT_GT(costs.costs_ms(costs.rules[4]), 0.0);  // The group.
}

TEST(RuleCosts, AreNeverNegative) {
  const std::vector<Planner> planners = testing::quick_planners(testing::random_models(5));
  int dearer = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(30))) {
    const Task task = testing::tiny_task_with_rules(seed);
    for (const Planner& planner : planners) {
      const RuleCosts costs = costs_of_rules(planner, task);
      for (const RuleCost& cost : costs.rules) {
        EXPECT_GE(costs.costs_ms(cost).value_or(0.0), 0.0);
        EXPECT_LE(cost.without_ms, costs.with_ms);
        const PlanResult alone = planner.plan(task_without(task, cost.rule));
        if (alone.cost.cost_ms > costs.with_ms) ++dearer;
      }
    }
  }
  EXPECT_TRUE(dearer > 0 || testing::kFewTasks);  // Else the rule was not put to the test.
}

TEST(RuleCosts, SayWhichRuleLeavesATaskWithoutAPlan) {
  Task task = ruled_task();
  task.memory_bytes = 300'000'000;  // One large table on a device.
  for (Table& table : task.tables) table.rules.kinds = {ShardingKind::kTable};
  task.groups = {{.tables = {0, 1}, .keep = Keep::kTogether}};
  const Planner planner(testing::random_models(5), {.effort = Effort::kFast, .threads = 1});
  const RuleCosts costs = costs_of_rules(planner, task);
  EXPECT_FALSE(costs.with.plan);
  EXPECT_TRUE(std::isinf(costs.with_ms));
  ASSERT_EQ(costs.rules.size(), 4U);
  for (const RuleCost& cost : costs.rules) {
    const bool group = cost.rule.group == 0;
    EXPECT_EQ(std::isinf(cost.without_ms), !group);
    EXPECT_EQ(costs.costs_ms(cost),
              group ? std::optional(std::numeric_limits<double>::infinity()) : std::nullopt);
  }
}

TEST(RuleCosts, KnowAnotherPlan) {
  Task task = ruled_task();
  task.tables[0].rules.no_split = true;
  const Planner planner(testing::random_models(5), {.effort = Effort::kFast, .threads = 1});
  const double known_ms = planner.plan(task).cost.cost_ms / 2.0;
  const RuleCosts costs = costs_of_rules(planner, task, {}, known_ms);
  EXPECT_EQ(costs.with_ms, known_ms);
  ASSERT_EQ(costs.rules.size(), 1U);
  EXPECT_LE(costs.rules[0].without_ms, known_ms);
}

}  // namespace
}  // namespace neuroshard
