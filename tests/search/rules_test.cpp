// Tasks whose devices differ and whose tables have rules: what every algorithm makes of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "core/base/random.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "neuroshard/what_if.h"
#include "random_policies.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/equal_tables.h"
#include "search/kept_rules.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::add_random_groups;
using testing::add_random_kinds;
using testing::add_random_rules;
using testing::drawn_tasks;
using testing::expect_keeps_rules;
using ::testing::HasSubstr;
using testing::random_models;
using testing::random_task;

TEST(Rules, LargerTasksKeepThemToo) {
  const Planner planner(random_models(2), {.effort = Effort::kFast, .threads = 1});
  int planned = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    Task task = random_task(seed);
    Random random(seed, 3);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 4, random);
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    planned += result.plan ? 1 : 0;
  }
  EXPECT_GT(planned, static_cast<int>(drawn_tasks(60) / 4));
}

TEST(Rules, ListOfEqualDevicesIsTheirNumber) {
  const CostModels models = random_models(3);
  for (const Algorithm algorithm : all_algorithms()) {
    SCOPED_TRACE(name_of(algorithm));
    const Planner planner(
        models,
        {.algorithm = algorithm, .threads = 1, .policy = testing::random_policy(algorithm)});
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Task plain = random_task(seed);
      plain.reserved.share = 0.0;  // A share of more memory is more.
      Task listed = plain;
      listed.memory_bytes = 0;
      listed.device_list.assign(static_cast<std::size_t>(plain.devices),
                                {.memory_bytes = plain.memory_bytes + 100, .base_bytes = 100});
      const PlanResult expected = planner.plan(plain);
      const PlanResult result = planner.plan(listed);
      EXPECT_EQ(result.plan, expected.plan);
      EXPECT_EQ(result.cost.cost_ms, expected.cost.cost_ms);
      if (algorithm == Algorithm::kNeuroshard) {
        EXPECT_EQ(planner.fingerprint(listed), planner.fingerprint(plain));
      }
    }
  }
}

TEST(Rules, BackendsThreadsAndReuseChangeNothing) {
  const CostModels models = random_models(4);
  PlannerOptions options{.effort = Effort::kFast,
                         .search = {.beam_width = 2, .max_splits = 3, .grid_steps = 4},
                         .backend = "scalar",
                         .threads = 1,
                         .reuse_work = false};
  const Planner plain(models, options);
  options = {.effort = Effort::kFast, .search = options.search, .threads = 3};
  const Planner best(models, options);
  options.algorithm = Algorithm::kPublished;
  const Planner best_published(models, options);
  options.backend = "scalar";
  options.reuse_work = false;
  const Planner plain_published(models, options);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(10))) {
    Task task = random_task(seed);
    Random random(seed, 5);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    EXPECT_EQ(plain.plan(task).plan, best.plan(task).plan);
    EXPECT_EQ(plain_published.plan(task).plan, best_published.plan(task).plan);
  }
}

TEST(Rules, OrderAndNamesOfTablesChangeNothing) {
  const Planner planner(random_models(5), {.effort = Effort::kFast, .threads = 1});
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(25))) {
    Task task = random_task(seed);
    Random random(seed, 7);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    const PlanResult result = planner.plan(task);
    std::vector<int> order(task.tables.size());
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + order.size() / 3, order.end());
    const Task listed = task;
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      task.tables[i] = listed.tables[static_cast<std::size_t>(order[i])];
      place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    }
    for (TableGroup& group : task.groups) {
      for (int& table : group.tables) table = place[static_cast<std::size_t>(table)];
    }
    std::ranges::reverse(task.groups);
    for (std::size_t i = 0; i < task.tables.size(); ++i) task.tables[i].name = std::to_string(i);
    EXPECT_EQ(planner.plan(task).cost.cost_ms, result.cost.cost_ms);
  }
}

TEST(Rules, BaseLoadCounts) {
  const Planner planner(builtin_weights(), {.threads = 1});
  Task task = random_task(11);
  task.devices = 2;
  task.device_list = {{.memory_bytes = std::int64_t{1} << 40, .base_ms = 3.5, .base_bytes = 7},
                      {.memory_bytes = std::int64_t{1} << 40}};
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  const std::vector<DeviceCost>& loaded = result.cost.devices;
  EXPECT_EQ(loaded[0].base_ms, 3.5);
  EXPECT_EQ(loaded[0].base_bytes, 7);
  EXPECT_EQ(loaded[1].base_ms, 0.0);
  const PlanCost again = planner.simulate(task, *result.plan);
  EXPECT_EQ(again.cost_ms, result.cost.cost_ms);
  task.device_list.clear();
  task.memory_bytes = std::int64_t{1} << 40;
  const PlanCost free = planner.simulate(task, *result.plan);
  EXPECT_NEAR(loaded[0].compute_ms, free.devices[0].compute_ms + 3.5, 1e-4);
  EXPECT_EQ(loaded[1].compute_ms, free.devices[1].compute_ms);
  // The plan that knows of the load beats the one that does not.
  const PlanResult ignorant = planner.plan(task);
  task.device_list = {{.memory_bytes = std::int64_t{1} << 40, .base_ms = 3.5},
                      {.memory_bytes = std::int64_t{1} << 40}};
  EXPECT_LE(result.cost.cost_ms, planner.simulate(task, *ignorant.plan).cost_ms);
}

TEST(Rules, WhatIfsKeepThem) {
  const Planner planner(random_models(6), {.effort = Effort::kFast, .threads = 1});
  Task task = random_task(3);
  task.devices = 4;
  task.tables.front().rules = {.no_split = true, .devices = {1}};
  task.tables.back().rules.not_devices = {0, 2};
  const std::int64_t memory = 4 * total_bytes(task);
  task.device_list.assign(4, {.memory_bytes = memory, .base_ms = 0.0});
  task.device_list[2].base_ms = 1.0;
  const std::vector<TaskVariant> variants = {{4, memory}, {4, memory / 3}, {3, memory}};
  const std::vector<PlanOutcome> outcomes = plan_variants(planner, task, variants);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Task with = task_with(task, variants[i]);
    EXPECT_EQ(with.device_list.empty(), variants[i].devices != 4);
    ASSERT_TRUE(outcomes[i].has_value());
    expect_keeps_rules(with, *outcomes[i]);
    EXPECT_TRUE(outcomes[i]->plan);
  }
}

TEST(Rules, ReplanningKeepsThem) {
  const Planner planner(random_models(7), {.effort = Effort::kFast, .threads = 1});
  int planned = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(25))) {
    const Task before = random_task(seed);
    const PlanResult running = planner.plan(before);
    if (!running.plan) continue;
    Task task = before;
    Random random(seed, 9);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    const ReplanResult result =
        planner.replan(task, {before, *running.plan}, {.most_moved_bytes = total_bytes(task)});
    expect_keeps_rules(task, result.result);
    planned += result.result.plan ? 1 : 0;
  }
  EXPECT_GT(planned, static_cast<int>(drawn_tasks(25) / 4));
}

TEST(Rules, RowBlocksKeepThem) {
  const Planner planner(builtin_weights(),
                        {.effort = Effort::kFast, .cuts = Cuts::kAny, .threads = 1});
  Task task{.tables = {{.name = "large",
                        .rows = 2'000'000,
                        .dim = 8,
                        .pooling_factor = 1.0,
                        .access_histogram = {1.0}},
                       {.name = "small",
                        .rows = 1000,
                        .dim = 16,
                        .pooling_factor = 1.0,
                        .access_histogram = {1.0}}},
            .devices = 4,
            .memory_bytes = 20'000'000};
  task.tables[1].rules = {.no_split = true, .devices = {2}};
  TableRules& rules = task.tables[0].rules;
  for (const TableRules& allowing : {TableRules{}, TableRules{.min_width = 8, .max_slices = 4}}) {
    rules = allowing;
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    ASSERT_TRUE(result.plan);
    EXPECT_EQ(result.plan->slices.size(), 5U);
    EXPECT_TRUE(has_row_blocks(task, *result.plan));
  }
  for (const TableRules& forbidding : {TableRules{.no_split = true}, TableRules{.max_slices = 3},
                                       TableRules{.not_devices = {0}}}) {
    rules = forbidding;
    EXPECT_FALSE(planner.plan(task).plan);
  }
  rules = {};
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  EXPECT_TRUE(planner.plan(task).plan);
  task.device_list[3] = {.memory_bytes = 2 * task.memory_bytes, .base_ms = 1.0, .speed = 2.0};
  const PlanResult unequal = planner.plan(task);
  expect_keeps_rules(task, unequal);
  ASSERT_TRUE(unequal.plan);
  EXPECT_TRUE(has_row_blocks(task, *unequal.plan));
  rules.not_devices = {0};
  EXPECT_FALSE(planner.plan(task).plan);
}

TEST(Rules, ReasonsNameThem) {
  const Planner planner(random_models(8), {.effort = Effort::kFast, .threads = 1});
  Task task{
      .tables = testing::equal_tables(3, 10'000, 16), .devices = 3, .memory_bytes = 1'000'000};
  const auto reason = [&] { return planner.plan(task).infeasible.value(); };
  task.tables[1].rules.devices = {2};
  task.tables[2].rules.devices = {2};
  Infeasibility why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kRules);
  EXPECT_THAT(why.message,
              HasSubstr("2 tables, the largest of which is table 1 ('t1'), may by "
                        "their rules only go to device 2 and need 1.22 MiB, but that holds"));
  task.memory_bytes = 700'000;
  for (Table& table : task.tables) table.rules.devices = {0, 1};
  EXPECT_THAT(reason().message, HasSubstr("only go to devices 0, 1 and need 1.83 MiB, but these "
                                          "hold 1.34 MiB: 508 KiB are short; allow more devices"));
  task.memory_bytes = 1'000'000;
  task.devices = 4;
  for (Table& table : task.tables) table.rules = {.no_split = true};
  task.tables[0].rows = 20'000;
  task.tables[0].rules = {.devices = {1}};
  EXPECT_THAT(reason().message, HasSubstr("table 0 ('t0') may by its rules only go to device 1 and "
                                          "needs 1.22 MiB, but that holds 977 KiB"));
  task.devices = 3;
  task.tables = testing::equal_tables(3, 10'000, 16);
  task.tables[1].rules.devices = {2};
  task.tables[2].rules = {.min_width = 16, .devices = {0, 1}};
  task.device_list = {
      {.memory_bytes = 100'000}, {.memory_bytes = 200'000}, {.memory_bytes = 4'000'000}};
  why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kPieceTooLarge);
  EXPECT_EQ(why.table, 2);
  EXPECT_THAT(why.message, HasSubstr("(rules: min_width 16; devices 0, 1)"));
  EXPECT_THAT(why.message, HasSubstr("loosen its rules"));
}

TEST(Rules, PlansOfTablesWithMaxSlicesUseAllOfThem) {
  // Three slices, of which one is half the table: neither two equal ones nor four would do.
  const Planner planner(random_models(9), {.effort = Effort::kFast, .threads = 1});
  Task task{.devices = 3};
  task.tables.push_back(
      {.name = "", .rows = 1000, .dim = 16, .pooling_factor = 1.0, .access_histogram = {1.0}});
  task.tables[0].rules.max_slices = 3;
  task.device_list = {{.memory_bytes = 32'000}, {.memory_bytes = 16'000}, {.memory_bytes = 16'000}};
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->slices.size(), 3U);
  task.tables[0].rules.max_slices = 2;
  const PlanResult none = planner.plan(task);
  ASSERT_TRUE(none.infeasible);
  EXPECT_THAT(none.infeasible->message, HasSubstr("as the rules of tables allow"));
}

}  // namespace
}  // namespace neuroshard
