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

#include "core/plans/deduplicated_task.h"
#include "core/plans/equal_blocks.h"
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
#include "search/plan_recount.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;

/// Four sequences, of which little is sent by popular rows, and two pooled tables.
Task popular_task(int devices) {
  Task task;
  for (int i = 0; i < 6; ++i) {
    Table table;
    table.rows = 2'000'000;
    table.dim = 128;
    table.pooling_factor = i < 4 ? 60.0 : 10.0;
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, 1.2);
    table.popularity = zipf_popularity(table.rows, 1.2);
    table.pooling = i < 4 ? Pooling::kNone : Pooling::kSum;
    task.tables.push_back(table);
  }
  task.devices = devices;
  task.memory_bytes = std::int64_t{40} << 30;
  task.exchange.hot_rows = true;
  return task;
}

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

/// Each table row-wise but for these rows.
Plan row_wise_plan(const Task& task, std::int64_t hot, std::int64_t on_nodes) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (int t = 0; std::cmp_less(t, task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    plan.hot_rows.push_back({t, hot, on_nodes});
    for_each_block({t, 0, table.dim, 0, table.rows - hot - on_nodes}, 0, task.devices,
                   [&](const TableSlice& block, int device) {
                     plan.shards[static_cast<std::size_t>(device)].push_back(
                         static_cast<int>(plan.slices.size()));
                     plan.slices.push_back(block);
                   });
  }
  return plan;
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
TEST(HotRows, NeverMakePlansDearer) {
  const Planner planner(builtin_weights(), {.threads = 1});
  int kept = 0;
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(40); ++seed) {
    SCOPED_TRACE(seed);
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
    EXPECT_TRUE(check_plan(*hot.plan, task).empty());
    EXPECT_EQ(planner.simulate(task, *hot.plan).cost_ms, hot.cost.cost_ms);
    if (hot.plan->hot_rows.empty()) continue;
    ++kept;
    const HotRowsSplit split(task, *hot.plan);
    testing::expect_recounts(split.task(), split.plan(), hot.cost);
  }
  EXPECT_GT(kept, 0);
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

Task with_node_rows(Task task) {
  task.exchange.hot_rows_by_node = true;
  return task;
}

/// A sequence of which most lookups are of rows that each node looks up, and few devices do.
Task task_of_nodes(int devices) {
  Task task = popular_task(devices);
  task.tables.resize(3);
  for (Table& table : task.tables) {
    table.rows = 20'000'000;
    table.dim = 256;
    table.pooling_factor = 100.0;
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, 1.1);
    table.popularity = zipf_popularity(table.rows, 1.1);
  }
  task.memory_bytes = std::int64_t{80} << 30;
  task.exchange.deduplicate_ids = true;
  return with_node_rows(task);
}

TEST(NodeRows, AreKeptWhereTheyPay) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Hardware& machine = hardware_named("a100");
  const Task task = task_of_nodes(16);
  Task without = task;
  without.exchange.hot_rows_by_node = false;
  const PlanResult usual = planner.plan(without);
  const PlanResult tiers = planner.plan(task);
  ASSERT_TRUE(usual.plan && tiers.plan);
  std::int64_t rows = 0;
  for (const HotRows& hot : tiers.plan->hot_rows) rows += hot.node_rows;
  EXPECT_GT(rows, 0);
  EXPECT_LT(tiers.cost.cost_ms, 0.98 * usual.cost.cost_ms);
  EXPECT_TRUE(check_plan(*tiers.plan, task).empty());
  EXPECT_EQ(planner.simulate(task, *tiers.plan).cost_ms, tiers.cost.cost_ms);
  EXPECT_EQ(planner.explain(task, *tiers.plan).cost.cost_ms, tiers.cost.cost_ms);
  EXPECT_EQ(planner.plan_batch(std::vector{task})[0]->cost.cost_ms, tiers.cost.cost_ms);
  const auto priced_ms = [&](const Task& of, const Plan& plan) {
    return analytic_plan_cost(machine.gpu, machine.network, of, plan).cost_ms;
  };
  EXPECT_NEAR(tiers.cost.cost_ms / priced_ms(task, *tiers.plan), 1.0, 0.15);
  EXPECT_LT(priced_ms(task, *tiers.plan), priced_ms(without, *usual.plan));
  const PlanDocument document{.task = task, .plan = *tiers.plan, .cost = tiers.cost};
  for (const std::string& text :
       {plan_to_json(document), plan_to_json_line(0, task, *tiers.plan, tiers.cost)}) {
    EXPECT_EQ(plan_for(parse_plans(text, "plan.json").front(), task), *tiers.plan);
  }
  // Nobody says that of a plan without the word.
  EXPECT_THAT(message_of([&] { (void)planner.simulate(without, *tiers.plan); }),
              HasSubstr("hot_rows_by_node"));
  // A changed device counts what all send within nodes, too.
  const PlanExplanation explained = planner.explain(task, *tiers.plan);
  EXPECT_NEAR(explained.slices[0][0].without.plan_ms / tiers.cost.cost_ms, 1.0, 0.02);
}

// All-to-alls are those of the other rows until links in nodes have more to do; nodes add up the
// gradients over the links between them, and each device updates its part.
TEST(NodeRows, ArePricedByWhatLinksCarry) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Task task = task_of_nodes(16);
  for (const std::int64_t on_nodes : {20'000, 400'000, 15'000'000}) {
    SCOPED_TRACE(on_nodes);
    const Plan plan = row_wise_plan(task, 1000, on_nodes);
    const PlanCost cost = planner.simulate(task, plan);
    // A task of its own has all but rows on nodes.
    const HotRowsSplit split(task, plan);
    Task rest = split.task();
    Plan of_rest = split.plan();
    of_rest.replicas.clear();
    rest.tables.clear();
    double columns_in_nodes = 0.0;
    for (std::size_t t = 0; t < split.task().tables.size(); ++t) {
      const Table& table = split.task().tables[t];
      if (table.replica_devices == 1) {
        if (t >= task.tables.size()) {
          of_rest.replicas.push_back(static_cast<int>(rest.tables.size()));
        }
        rest.tables.push_back(table);
        continue;
      }
      EXPECT_EQ(table.rows, on_nodes);
      Task alone = split.task();
      alone.tables = {table};
      columns_in_nodes += DeduplicatedTask(alone).task().tables[0].pooling_factor / 8.0 * table.dim;
    }
    ASSERT_EQ(of_rest.replicas.size(), 3U);
    const PlanCost without = planner.simulate(rest, of_rest);
    const auto columns = static_cast<double>(without.devices[0].dim_sum);
    const double in_node_share = 7.0 / (300.0 * 0.71) / (8.0 / (25.0 * 0.85));
    const double times = in_node_share * (columns + columns_in_nodes) / columns;
    const DeviceCost& with = cost.devices[0];
    const DeviceCost& others = without.devices[0];
    EXPECT_EQ(with.dim_sum, others.dim_sum);
    if (times <= 1.0) {
      EXPECT_EQ(with.backward_ms, others.backward_ms);
      EXPECT_EQ(with.forward_ms, others.forward_ms);
      EXPECT_EQ(with.ids_ms, others.ids_ms);
    } else {
      constexpr double kLatencyMs = 0.075;
      EXPECT_NEAR((with.backward_ms - kLatencyMs) / (others.backward_ms - kLatencyMs) / times, 1.0,
                  0.04);
    }
    EXPECT_EQ(times > 1.0, on_nodes > 1'000'000);
    const double megabytes = 3.0 * static_cast<double>(on_nodes) * 256.0 * 4.0 / 1e6;
    const double between_ms = 2.0 * (1.0 / 2.0 / 8.0) / (25.0 * 0.85) * megabytes;
    const double update_ms = 4.0 / 8.0 / (2039.0 * 0.9) * megabytes;
    EXPECT_NEAR((with.all_reduce_ms - others.all_reduce_ms) / (between_ms + update_ms), 1.0, 0.05);
  }
}

// The plan without them is a start, and one node has none.
TEST(NodeRows, NeverMakePlansDearer) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  int kept = 0;
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(30); ++seed) {
    SCOPED_TRACE(seed);
    Task task = testing::random_task_of_all_kinds(seed);
    for (Table& table : task.tables) {
      table.row_shares.clear();
      table.features = 1.0;
      table.weighted = false;
      table.pooling = Pooling::kNone;
      if (seed % 2 == 0) {
        table.rows = 20'000'000;
        table.dim = 128;
        table.pooling_factor = 100.0;
      }
      table.popularity = zipf_popularity(table.rows, seed % 2 == 0 ? 1.1 : 1.3);
    }
    if (seed % 2 == 0) {  // Two nodes, and lookups enough for a tier.
      task.devices = 16;
      task.memory_bytes = total_bytes(task);
      task.exchange.deduplicate_ids = true;
      task.exchange.deduplicate_by_table = false;
    }
    task.exchange.hot_rows = true;
    const PlanResult hot = planner.plan(task);
    const PlanResult tiers = planner.plan(with_node_rows(task));
    ASSERT_EQ(hot.plan.has_value(), tiers.plan.has_value());
    if (!hot.plan) continue;
    EXPECT_LE(tiers.cost.cost_ms, hot.cost.cost_ms);
    EXPECT_TRUE(check_plan(*tiers.plan, with_node_rows(task)).empty());
    EXPECT_EQ(planner.simulate(with_node_rows(task), *tiers.plan).cost_ms, tiers.cost.cost_ms);
    if (!fills_nodes(task)) {
      EXPECT_EQ(*tiers.plan, *hot.plan);
    }
    kept += *tiers.plan == *hot.plan ? 0 : 1;
  }
  EXPECT_GT(kept, 0);
  const Task one_node = task_of_nodes(8);
  Task without = one_node;
  without.exchange.hot_rows_by_node = false;
  EXPECT_EQ(*planner.plan(one_node).plan, *planner.plan(without).plan);
}

TEST(NodeRows, AreSaidToC) {
  const auto planner = testing::new_planner(testing::with(&ns_planner_options::cuts, "any"));
  const auto task = testing::task_from(
      R"({"format": "neuroshard.task", "version": 1, "devices": 16, "memory_gb": 80,
          "exchange": {"deduplicate_ids": true, "hot_rows": true, "hot_rows_by_node": true},
          "tables": [{"row": 20000000, "dim": 256, "pooling_factor": 300, "pooling": "none",
                      "zipf_exponent": 1.1}]})");
  const auto plan = testing::plan_of(planner, task);
  std::size_t count = 0;
  ns_hot_rows rows{};
  ASSERT_EQ(ns_plan_get_node_rows(plan.get(), &rows, 1, &count), NS_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(rows.table, 0);
  EXPECT_GT(rows.rows, 0);
  EXPECT_NE(ns_plan_get_node_rows(nullptr, &rows, 1, &count), NS_OK);
  EXPECT_NE(ns_plan_get_slices(plan.get(), nullptr, 0, &count), NS_OK);
}

TEST(NodeRows, StayAndChangeWhereMovesAllow) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task task = task_of_nodes(16);
  Task without = task;
  without.exchange.hot_rows_by_node = false;
  const PlanResult tiers = planner.plan(task);
  const PlanResult hot = planner.plan(without);
  const auto node_rows = [](const Plan& plan) {
    std::int64_t rows = 0;
    for (const HotRows& of : plan.hot_rows) rows += of.node_rows;
    return rows;
  };
  ASSERT_GT(node_rows(*tiers.plan), 0);
  // They stay where nothing has changed, and come where moves are allowed.
  const ReplanResult same = planner.replan(task, {task, *tiers.plan}, {.most_moved_bytes = 0});
  EXPECT_EQ(same.moved_bytes, 0);
  EXPECT_EQ(node_rows(*same.result.plan), node_rows(*tiers.plan));
  EXPECT_EQ(planner.replan(task, {without, *hot.plan}, {.most_moved_bytes = 0}).moved_bytes, 0);
  const ReplanResult comes =
      planner.replan(task, {without, *hot.plan}, {.most_moved_bytes = std::int64_t{64} << 30});
  EXPECT_GT(node_rows(*comes.result.plan), 0);
  EXPECT_LT(comes.result.cost.cost_ms, hot.cost.cost_ms);
  // A task without the word has none, and another number of nodes lets them be sent again.
  const ReplanResult dropped = planner.replan(without, {task, *tiers.plan});
  EXPECT_EQ(node_rows(*dropped.result.plan), 0);
  EXPECT_GT(dropped.moved_bytes, 0);
  Task larger = task;
  larger.devices = 24;
  const ReplanResult grown = planner.replan(larger, {task, *tiers.plan});
  ASSERT_TRUE(grown.result.plan);
  EXPECT_TRUE(check_plan(*grown.result.plan, larger).empty());
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

// And the next ones on each node that each node's part of the batch looks up once.
TEST(Flexshard, KeepsRowsThatEachNodeLooksUpOnEach) {
  const Planner flexshard(builtin_weights(), {.algorithm = Algorithm::kFlexshard, .threads = 1});
  const Task task = popular_task(16);
  const PlanResult one = flexshard.plan(task);
  const PlanResult tiers = flexshard.plan(with_node_rows(task));
  ASSERT_EQ(tiers.plan->hot_rows.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const HotRows& hot = tiers.plan->hot_rows[i];
    EXPECT_EQ(hot.rows, one.plan->hot_rows[i].rows);
    const std::vector<PopularRows>& curve =
        task.tables[static_cast<std::size_t>(hot.table)].popularity;
    const auto point = std::ranges::find(curve, static_cast<double>(hot.all()), &PopularRows::rows);
    ASSERT_TRUE(point != curve.end() && point != curve.begin());
    const double of_row = (point->share - std::prev(point)->share) /
                          (point->rows - std::prev(point)->rows) * 65536.0 * 60.0;
    EXPECT_GE(of_row, 2.0);
    EXPECT_LE(of_row, 3.0);
  }
  EXPECT_TRUE(check_plan(*tiers.plan, with_node_rows(task)).empty());
}

}  // namespace
}  // namespace neuroshard
