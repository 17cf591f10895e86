// Tables that plans deduplicate one by one: chosen by cost, priced as drawn batches are, in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "message_of.h"
#include "neuroshard/cost_bound.h"
#include "neuroshard/explanation.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/replan.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;

Table table_of(std::int64_t rows, int dim, double pooling_factor, double exponent) {
  return {.rows = rows,
          .dim = dim,
          .pooling_factor = pooling_factor,
          .access_histogram = zipf_histogram(rows, pooling_factor, exponent)};
}

/// Eight large tables that are looked up once a sample in few rows, eight of which sums save much
/// more than distinct rows do, and two that are not pooled.
Task mixed_task(int devices) {
  Task task;
  for (int i = 0; i < 8; ++i) task.tables.push_back(table_of(20'000'000, 128, 1.0, 1.3));
  for (int i = 0; i < 8; ++i) task.tables.push_back(table_of(4'000'000, 64, 60.0, 0.6));
  for (int i = 0; i < 2; ++i) {
    task.tables.push_back(table_of(1'000'000, 64, 20.0, 1.2));
    task.tables.back().pooling = Pooling::kNone;
  }
  task.devices = devices;
  task.memory_bytes = std::int64_t{40} << 30;
  return task;
}

const Hardware& machine() { return hardware_named("a100"); }

Task by_table(Task task) {
  task.exchange.deduplicate_by_table = true;
  return task;
}

TEST(DeduplicatedTables, AreThoseThatGainByIt) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Task task = mixed_task(8);
  const PlanResult sums = planner.plan(task);
  const PlanResult chosen = planner.plan(by_table(task));
  ASSERT_TRUE(sums.plan && chosen.plan);
  EXPECT_THAT(sums.plan->deduplicated, IsEmpty());
  EXPECT_LT(chosen.cost.cost_ms, 0.92 * sums.cost.cost_ms);
  for (int table = 8; table < 16; ++table) {
    EXPECT_THAT(chosen.plan->deduplicated, Not(Contains(table)));
  }
  EXPECT_THAT(chosen.plan->deduplicated, Contains(16));
  EXPECT_THAT(chosen.plan->deduplicated, Contains(17));
  EXPECT_GE(chosen.plan->deduplicated.size(), 6U);
  // Whoever is asked for the cost says the same.
  EXPECT_TRUE(check_plan(*chosen.plan, by_table(task)).empty());
  EXPECT_EQ(planner.simulate(by_table(task), *chosen.plan).cost_ms, chosen.cost.cost_ms);
  EXPECT_EQ(planner.explain(by_table(task), *chosen.plan).cost.cost_ms, chosen.cost.cost_ms);
  EXPECT_EQ(planner.plan_batch(std::vector{by_table(task)})[0]->cost.cost_ms, chosen.cost.cost_ms);
  const double priced_ms =
      analytic_plan_cost(machine().gpu, machine().network, by_table(task), *chosen.plan).cost_ms;
  EXPECT_NEAR(chosen.cost.cost_ms / priced_ms, 1.0, 0.1);
  EXPECT_LT(priced_ms,
            0.93 * analytic_plan_cost(machine().gpu, machine().network, task, *sums.plan).cost_ms);
  // Each device finds rows and pools what comes back; all take as long.
  for (const DeviceCost& device : chosen.cost.devices) EXPECT_GT(device.replicas_ms, 0.0);
  // Plans of columns alone, and baselines, deduplicate nothing.
  const Planner columns(builtin_weights(), {.cuts = Cuts::kColumns, .threads = 1});
  EXPECT_THAT(columns.plan(by_table(task)).plan->deduplicated, IsEmpty());
}

// They are planned without that, too.
TEST(DeduplicatedTables, NeverMakePlansDearer) {
  const Planner planner(builtin_weights(), {.threads = 1});
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(25))) {
    Task task = testing::random_task_of_all_kinds(seed);
    task.exchange = {};
    const PlanResult sums = planner.plan(task);
    const PlanResult chosen = planner.plan(by_table(task));
    if (!sums.plan) continue;
    ASSERT_TRUE(chosen.plan);
    EXPECT_LE(chosen.cost.cost_ms, sums.cost.cost_ms);
  }
}

// Columns of sequences are counted in units, of which a plan that deduplicates them has fewer.
TEST(DeduplicatedTables, MayBeLongSequences) {
  Task task;
  for (int i = 0; i < 4; ++i) {
    task.tables.push_back(table_of(10'000'000, 256, 300.0, 1.1));
    task.tables.back().pooling = Pooling::kNone;
  }
  task.devices = 16;
  task.memory_bytes = std::int64_t{40} << 30;
  const Planner planner(builtin_weights(), {.threads = 1});
  const PlanResult all = planner.plan(task);
  const PlanResult chosen = planner.plan(by_table(task));
  ASSERT_TRUE(all.plan && chosen.plan);
  EXPECT_THAT(chosen.plan->deduplicated, ElementsAre(0, 1, 2, 3));
  EXPECT_LT(chosen.cost.cost_ms, 0.8 * all.cost.cost_ms);
  EXPECT_EQ(planner.simulate(by_table(task), *chosen.plan).cost_ms, chosen.cost.cost_ms);
}

// A table that is deduplicated costs what one that is not pooled does where all of these are.
TEST(DeduplicatedTables, AreDeduplicatedAsAllOfATaskAre) {
  Task all = mixed_task(4);
  for (Table& table : all.tables) table.pooling = Pooling::kNone;
  all.tables.resize(3);
  Plan plan{.slices = whole_tables(all), .shards = {{0}, {1}, {2}, {}}};
  const Task single = by_table(all);
  all.exchange.deduplicate_ids = true;
  const PlanCost of_all = analytic_plan_cost(machine().gpu, machine().network, all, plan);
  plan.deduplicated = {0, 1, 2};
  const PlanCost of_single = analytic_plan_cost(machine().gpu, machine().network, single, plan);
  for (std::size_t d = 0; d < 4; ++d) {
    const DeviceCost& device = of_single.devices[d];
    EXPECT_DOUBLE_EQ(device.compute_ms - device.replicas_ms, of_all.devices[d].compute_ms);
    EXPECT_EQ(device.dim_sum, of_all.devices[d].dim_sum);
    EXPECT_EQ(device.ids_ms, of_all.devices[d].ids_ms);
    EXPECT_EQ(device.backward_ms, of_all.devices[d].backward_ms);
    EXPECT_EQ(device.memory_bytes, of_all.devices[d].memory_bytes);
    EXPECT_EQ(device.all_reduce_ms, 0.0);
    EXPECT_GT(device.replicas_ms, 0.0);
  }
}

TEST(DeduplicatedTables, AreInPlanFiles) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = by_table(mixed_task(8));
  const PlanResult result = planner.plan(task);
  ASSERT_THAT(result.plan->deduplicated, Not(IsEmpty()));
  PlanDocument document{.task = task, .plan = *result.plan, .cost = result.cost};
  for (const std::string& text :
       {plan_to_json(document), plan_to_json_line(0, task, *result.plan, result.cost)}) {
    const std::vector<PlanRecord> records = parse_plans(text, "plan.json");
    EXPECT_EQ(plan_for(records.front(), task), *result.plan);
  }
}

TEST(DeduplicatedTables, AreCheckedAgainstTheTask) {
  const Task task = mixed_task(2);
  Plan plan{.slices = whole_tables(task), .shards = {{}, {}}};
  for (int slice = 0; slice < 18; ++slice) {
    plan.shards[static_cast<std::size_t>(slice % 2)].push_back(slice);
  }
  const auto problem = [&](const Task& of, std::vector<int> tables) {
    plan.deduplicated = std::move(tables);
    return message_of([&] { validate(plan, of); });
  };
  plan.deduplicated = {0, 17};
  EXPECT_NO_THROW(validate(plan, by_table(task)));
  EXPECT_THAT(problem(task, {0}),
              HasSubstr("the task's exchange does not say deduplicate_by_table"));
  EXPECT_THAT(problem(by_table(task), {0, 18}),
              HasSubstr("deduplicates ids of table 18; the task"));
  EXPECT_THAT(problem(by_table(task), {3, 3}),
              HasSubstr("lists table 3 behind table 3 as deduplicated; list each deduplicated"));
  Task both = by_table(task);
  both.exchange.deduplicate_ids = true;
  plan.deduplicated = {0};
  EXPECT_NO_THROW(validate(plan, both));
  EXPECT_THAT(problem(both, {16}), HasSubstr("which deduplicate_ids of exchange does already"));
  plan.replicas = {17};
  std::erase(plan.shards[1], 17);
  plan.slices.pop_back();
  EXPECT_THAT(problem(by_table(task), {17}), HasSubstr("which is replicated and sends none"));
  // Bounds and hosts' memory know of it, too.
  EXPECT_THAT(
      message_of([&] { (void)cost_bound_ms(machine().gpu, machine().network, by_table(task)); }),
      HasSubstr("leave out deduplicate_by_table"));
  Task hosted = by_table(task);
  hosted.host = {.bytes = std::int64_t{1} << 30, .link_gb_s = 25.0};
  EXPECT_THAT(message_of([&] { validate(hosted); }), HasSubstr("exchange deduplicates ids"));
}

TEST(DeduplicatedTables, StaySoWhereNothingChanges) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = by_table(mixed_task(8));
  const PlanResult result = planner.plan(task);
  const ReplanResult again = planner.replan(task, {.task = task, .plan = *result.plan}, {});
  ASSERT_TRUE(again.result.plan);
  EXPECT_LE(again.result.cost.cost_ms, result.cost.cost_ms);
  // Where the runtime no longer can, none are.
  const ReplanResult cannot =
      planner.replan(mixed_task(8), {.task = task, .plan = *result.plan}, {});
  ASSERT_TRUE(cannot.result.plan);
  EXPECT_THAT(cannot.result.plan->deduplicated, IsEmpty());
}

}  // namespace
}  // namespace neuroshard
