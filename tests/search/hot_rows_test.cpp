// Hot rows: chosen by cost, priced as all parts of the program say, in files; FlexShard's tiers.
#include "core/plans/hot_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "message_of.h"
#include "neuroshard/c_api.h"
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
#include "search/c_api_handles.h"
#include "search/hot_rows/popular_task.h"
#include "search/plan_recount.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;
using testing::popular_task;
using testing::row_wise_plan;

Task without_hot_rows(Task task) {
  task.exchange.hot_rows = false;
  return task;
}

TEST(HotRows, AreKeptWhereTheyPay) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Hardware& machine = hardware_named("a100");
  for (const bool deduplicate : {false, true}) {
    SCOPED_TRACE(deduplicate);
    Task task = popular_task(16);
    task.exchange.deduplicate_ids = deduplicate;
    const PlanResult usual = planner.plan(without_hot_rows(task));
    const PlanResult hot = planner.plan(task);
    ASSERT_TRUE(usual.plan && hot.plan);
    EXPECT_THAT(usual.plan->hot_rows, IsEmpty());
    EXPECT_GE(hot.plan->hot_rows.size(), 4U);
    EXPECT_LT(hot.cost.cost_ms, (deduplicate ? 0.95 : 0.6) * usual.cost.cost_ms);
    // Whoever is asked for the cost says the same.
    EXPECT_TRUE(check_plan(*hot.plan, task).empty());
    EXPECT_EQ(planner.simulate(task, *hot.plan).cost_ms, hot.cost.cost_ms);
    EXPECT_EQ(planner.explain(task, *hot.plan).cost.cost_ms, hot.cost.cost_ms);
    EXPECT_EQ(planner.plan_batch(std::vector{task})[0]->cost.cost_ms, hot.cost.cost_ms);
    const auto priced_ms = [&](const Task& of, const Plan& plan) {
      return analytic_plan_cost(machine.gpu, machine.network, of, plan).cost_ms;
    };
    EXPECT_NEAR(hot.cost.cost_ms / priced_ms(task, *hot.plan), 1.0, 0.15);
    EXPECT_LT(priced_ms(task, *hot.plan), priced_ms(without_hot_rows(task), *usual.plan));
    const HotRowsSplit split(task, *hot.plan);
    testing::expect_recounts(split.task(), split.plan(), hot.cost);
  }
  // Plans of columns alone, and of equal widths as TorchRec has them, keep none.
  for (const Cuts cuts : {Cuts::kColumns, Cuts::kTorchrec}) {
    const Planner other(builtin_weights(), {.cuts = cuts, .threads = 1});
    EXPECT_THAT(other.plan(popular_task(8)).plan->hot_rows, IsEmpty());
  }
}

/// Without hot rows, replicas are best; with them, a part of each table on all devices is.
Task task_of_replicas() {
  Task task = popular_task(16);
  task.tables.resize(4);
  for (Table& table : task.tables) {
    table.rows = 1'000'000;
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, 1.05);
    table.popularity = zipf_popularity(table.rows, 1.05);
  }
  return task;
}

TEST(HotRows, AreKeptOfTablesThatWereReplicas) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Task task = task_of_replicas();
  const PlanResult usual = planner.plan(without_hot_rows(task));
  ASSERT_EQ(usual.plan->replicas.size(), 4U);
  const PlanResult hot = planner.plan(task);
  EXPECT_EQ(hot.plan->hot_rows.size(), 4U);
  EXPECT_THAT(hot.plan->replicas, IsEmpty());
  for (std::int64_t rows = 1000; rows < 1'000'000; rows *= 2) {
    const PlanCost cost = planner.simulate(task, row_wise_plan(task, rows, 0));
    EXPECT_LT(hot.cost.cost_ms, 1.01 * cost.cost_ms) << rows;
  }
}

// The plan without them is a start.
TEST(HotRows, NeverMakePlansDearerAndNoMoreEffortDoes) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Planner fast(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  int kept = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    Task task = testing::random_task_of_all_kinds(seed);
    for (Table& table : task.tables) {
      if (seed % 2 == 1) continue;
      table.row_shares.clear();
      table.features = 1.0;
      table.weighted = false;
      table.pooling = Pooling::kNone;
      table.popularity = zipf_popularity(table.rows, 1.3);
    }
    const PlanResult usual = planner.plan(task);
    task.exchange.hot_rows = true;
    const PlanResult hot = planner.plan(task);
    ASSERT_EQ(usual.plan.has_value(), hot.plan.has_value());
    if (!usual.plan) continue;
    EXPECT_LE(hot.cost.cost_ms, usual.cost.cost_ms);
    EXPECT_LE(hot.cost.cost_ms, fast.plan(task).cost.cost_ms);
    EXPECT_TRUE(check_plan(*hot.plan, task).empty());
    EXPECT_EQ(planner.simulate(task, *hot.plan).cost_ms, hot.cost.cost_ms);
    if (hot.plan->hot_rows.empty()) continue;
    ++kept;
    const HotRowsSplit split(task, *hot.plan);
    testing::expect_recounts(split.task(), split.plan(), hot.cost);
  }
  EXPECT_GT(kept, 0);
}

TEST(HotRows, NothingIsSearchedWhereTablesAloneExceedAllMemory) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  Task task = popular_task(4);
  task.exchange.deduplicate_by_table = true;
  task.memory_bytes = 1'000'000;
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.infeasible);
  EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kTotalMemory);
  EXPECT_EQ(result.stats.edits, 0U);
}

// Tables and their hot rows may have some more columns together, for which models count columns by
// twos.
TEST(HotRows, MayTakeDevicesToMoreColumnsThanModelsCountOneByOne) {
  Task task = popular_task(4);
  task.tables.resize(4);
  for (Table& table : task.tables) table.pooling_factor = 64.0;  // 8,192 columns a device.
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const PlanResult hot = planner.plan(task);
  ASSERT_TRUE(hot.plan);
  EXPECT_THAT(hot.plan->hot_rows, Not(IsEmpty()));
  EXPECT_EQ(planner.simulate(task, *hot.plan).cost_ms, hot.cost.cost_ms);
  Task fewer = task;
  fewer.devices = 3;
  for (const auto& [next, lost] :
       {std::pair(task, std::vector<int>{}), std::pair(fewer, std::vector{0})}) {
    const ReplanResult near = planner.replan(next, {task, *hot.plan, lost});
    ASSERT_TRUE(near.result.plan);
    EXPECT_EQ(planner.simulate(next, *near.result.plan).cost_ms, near.result.cost.cost_ms);
  }
}

TEST(HotRows, AreAmongAlternativesAndImprovements) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = popular_task(16);
  double last_ms = 0.0;
  const PlanResult result = planner.plan(
      task, {.alternatives = 3,
             .on_improvement = [&](const Improvement& better) { last_ms = better.cost.cost_ms; }});
  ASSERT_THAT(result.plan->hot_rows, Not(IsEmpty()));
  EXPECT_EQ(last_ms, result.cost.cost_ms);
  ASSERT_EQ(result.alternatives.size(), 3U);
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_GE(other.cost.cost_ms, result.cost.cost_ms);
    EXPECT_NE(other.plan, *result.plan);
  }
}

TEST(HotRows, AreInPlanFiles) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = popular_task(8);
  const PlanResult result = planner.plan(task);
  ASSERT_THAT(result.plan->hot_rows, Not(IsEmpty()));
  const PlanDocument document{.task = task, .plan = *result.plan, .cost = result.cost};
  for (const std::string& text :
       {plan_to_json(document), plan_to_json_line(0, task, *result.plan, result.cost)}) {
    EXPECT_EQ(plan_for(parse_plans(text, "plan.json").front(), task), *result.plan);
    std::string broken = text;
    const std::size_t begin = broken.find("\"hot_rows\"");
    broken.insert(broken.find('[', begin) + 1, "[3],");
    EXPECT_THAT(message_of([&] { (void)parse_plans(broken, "plan.json"); }),
                HasSubstr("hot_rows: entry 0 is neither [table, rows] nor "));
  }
}

TEST(HotRows, AreSaidToC) {
  const auto planner = testing::new_planner(testing::with(&ns_planner_options::cuts, "any"));
  const auto task = testing::task_from(
      R"({"format": "neuroshard.task", "version": 1, "devices": 16, "memory_gb": 40,
          "exchange": {"hot_rows": true}, "tables": [
          {"row": 2000000, "dim": 128, "pooling_factor": 60, "pooling": "none",
           "zipf_exponent": 1.2}]})");
  const auto plan = testing::plan_of(planner, task);
  std::size_t count = 0;
  ns_hot_rows hot{};
  ASSERT_EQ(ns_plan_get_hot_rows(plan.get(), &hot, 1, &count), NS_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(hot.table, 0);
  EXPECT_GT(hot.rows, 0);
  EXPECT_NE(ns_plan_get_hot_rows(nullptr, &hot, 1, &count), NS_OK);
  EXPECT_NE(ns_plan_get_slices(plan.get(), nullptr, 0, &count), NS_OK);
  // They stay where nothing has changed.
  ns_plan* replanned = nullptr;
  ASSERT_EQ(ns_planner_replan(planner.get(), plan.get(), task.get(), nullptr, &replanned), NS_OK);
  const testing::Handle<ns_plan> near(replanned);
  ns_hot_rows again{};
  ASSERT_EQ(ns_plan_get_hot_rows(near.get(), &again, 1, &count), NS_OK);
  EXPECT_EQ(again.rows, hot.rows);
  ASSERT_EQ(ns_plan_get_moves(near.get(), nullptr, 0, &count), NS_OK);
  EXPECT_EQ(count, 0U);
}

TEST(HotRows, StayAndChangeWhereMovesAllow) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = popular_task(16);
  const PlanResult hot = planner.plan(task);
  const PlanResult usual = planner.plan(without_hot_rows(task));
  ASSERT_THAT(hot.plan->hot_rows, Not(IsEmpty()));
  // They stay, and other tables have no fewer devices for them.
  const ReplanResult same = planner.replan(task, {task, *hot.plan});
  EXPECT_EQ(same.moved_bytes, 0);
  EXPECT_LE(same.result.cost.cost_ms, hot.cost.cost_ms);
  EXPECT_EQ(same.running_cost.cost_ms, hot.cost.cost_ms);
  // They come with a budget, to every device that lacks them, and as many as it lets them.
  const RunningPlan without{task, *usual.plan};
  EXPECT_THAT(planner.replan(task, without).result.plan->hot_rows, IsEmpty());
  double last_ms = usual.cost.cost_ms;
  for (const double gib : {0.05, 0.25, 4.0}) {
    const auto budget = static_cast<std::int64_t>(gib * 0x1p30);
    const ReplanResult near = planner.replan(task, without, {.most_moved_bytes = budget});
    std::int64_t bytes = 0;
    for (const HotRows& rows : near.result.plan->hot_rows) bytes += 15 * rows.rows * 128 * 4;
    EXPECT_GT(bytes, 0);
    EXPECT_LE(bytes, near.moved_bytes);
    EXPECT_LE(near.moved_bytes, budget);
    EXPECT_EQ(near.unspent_bytes, budget - near.moved_bytes);
    EXPECT_LT(near.result.cost.cost_ms, 0.95 * last_ms);
    last_ms = near.result.cost.cost_ms;
  }
  EXPECT_LT(last_ms, 1.02 * hot.cost.cost_ms);
  const ReplanResult priced = planner.replan(task, without, {.ms_per_moved_gib = 0.1});
  EXPECT_LT(priced.result.cost.cost_ms, 1.05 * hot.cost.cost_ms);
  EXPECT_THAT(planner.replan(task, without, {.ms_per_moved_gib = 1e6}).moves, IsEmpty());
  // Tasks that no longer say so drop them, which moves nothing.
  const ReplanResult dropped =
      planner.replan(without_hot_rows(task), {task, *hot.plan}, {.most_moved_bytes = 0});
  EXPECT_THAT(dropped.result.plan->hot_rows, IsEmpty());
  EXPECT_THAT(dropped.moves, IsEmpty());
}

// The plan without them would spend the budget on all that makes it a little cheaper.
TEST(HotRows, ComeBeforeMovesThatGainLess) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Planner greedy(builtin_weights(), {.algorithm = Algorithm::kSizeGreedy, .threads = 1});
  const Task task = popular_task(16);
  const RunningPlan running{task, *greedy.plan(task).plan};
  const ReplanResult without =
      planner.replan(without_hot_rows(task), running, {.most_moved_bytes = std::int64_t{1} << 30});
  ASSERT_GT(without.moved_bytes, 0);
  const ReplanResult near =
      planner.replan(task, running, {.most_moved_bytes = without.moved_bytes});
  EXPECT_LE(near.moved_bytes, without.moved_bytes);
  EXPECT_GE(near.result.plan->hot_rows.size(), 4U);
  EXPECT_LT(near.result.cost.cost_ms, 0.3 * without.result.cost.cost_ms);
}

TEST(HotRows, StayOnDevicesThatAreLeftAndComeToAddedOnes) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = popular_task(16);
  const PlanResult hot = planner.plan(task);
  for (const int devices : {15, 18}) {
    Task changed = task;
    changed.devices = devices;
    RunningPlan running{task, *hot.plan};
    if (devices < 16) running.lost_devices = {3};
    const ReplanResult near = planner.replan(changed, running);
    EXPECT_EQ(near.result.plan->hot_rows, hot.plan->hot_rows);
    EXPECT_LT(near.result.cost.cost_ms, 1.6 * planner.plan(changed).cost.cost_ms);
    EXPECT_TRUE(check_plan(*near.result.plan, changed).empty());
  }
}

// Every device has all of it already.
TEST(HotRows, OfRunningReplicasMoveNothing) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = task_of_replicas();
  const PlanResult usual = planner.plan(without_hot_rows(task));
  ASSERT_EQ(usual.plan->replicas.size(), 4U);
  const ReplanResult near =
      planner.replan(task, {without_hot_rows(task), *usual.plan}, {.most_moved_bytes = 0});
  EXPECT_EQ(near.result.plan->hot_rows.size(), 4U);
  EXPECT_THAT(near.moves, IsEmpty());
  EXPECT_LT(near.result.cost.cost_ms, 0.5 * usual.cost.cost_ms);
}

TEST(HotRows, AreNotKnownToBoundsAndHosts) {
  const Task task = popular_task(4);
  const Hardware& machine = hardware_named("a100");
  EXPECT_THAT(message_of([&] { (void)cost_bound_ms(machine.gpu, machine.network, task); }),
              HasSubstr("hot_rows"));
  Task hosted = task;
  hosted.host = {.bytes = std::int64_t{1} << 30, .link_gb_s = 25.0};
  EXPECT_THAT(message_of([&] { validate(hosted); }), HasSubstr("hot_rows"));
}

TEST(Flexshard, KeepsRowsThatEachDeviceLooksUpOnAll) {
  const Planner flexshard(builtin_weights(), {.algorithm = Algorithm::kFlexshard, .threads = 1});
  const Planner ours(builtin_weights(), {.threads = 1});
  Task task = popular_task(16);
  const PlanResult tiers = flexshard.plan(task);
  ASSERT_TRUE(tiers.plan);
  ASSERT_EQ(tiers.plan->hot_rows.size(), 4U);
  for (const HotRows& hot : tiers.plan->hot_rows) {
    // The last hot row is looked up once by each device: by Zipf's law, to a step of the curve.
    const std::vector<PopularRows>& curve =
        task.tables[static_cast<std::size_t>(hot.table)].popularity;
    const auto point = std::ranges::find(curve, static_cast<double>(hot.rows), &PopularRows::rows);
    ASSERT_TRUE(point != curve.end() && point != curve.begin());
    const double of_row = (point->share - std::prev(point)->share) /
                          (point->rows - std::prev(point)->rows) * 65536.0 * 60.0;
    EXPECT_GE(of_row, 16.0);
    EXPECT_LE(of_row, 24.0);
  }
  EXPECT_TRUE(check_plan(*tiers.plan, task).empty());
  EXPECT_EQ(flexshard.simulate(task, *tiers.plan).cost_ms, tiers.cost.cost_ms);
  const PlanResult rows = flexshard.plan(without_hot_rows(task));
  EXPECT_THAT(rows.plan->hot_rows, IsEmpty());
  EXPECT_LT(tiers.cost.cost_ms, 0.7 * rows.cost.cost_ms);
  EXPECT_LE(ours.plan(task).cost.cost_ms, tiers.cost.cost_ms);
  // As many as there is room for.
  const auto hot_rows = [](const PlanResult& result) {
    std::int64_t sum = 0;
    for (const HotRows& hot : result.plan->hot_rows) sum += hot.rows;
    return sum;
  };
  task.memory_bytes =
      std::ranges::max(rows.cost.devices, {}, &DeviceCost::memory_bytes).memory_bytes;
  task.memory_bytes += std::int64_t{8} << 20;
  const PlanResult tight = flexshard.plan(task);
  ASSERT_TRUE(tight.plan);
  EXPECT_GT(hot_rows(tight), 0);
  EXPECT_LT(hot_rows(tight), hot_rows(tiers));
  EXPECT_TRUE(check_plan(*tight.plan, task).empty());
}

}  // namespace
}  // namespace neuroshard
