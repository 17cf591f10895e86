// Rows that each node holds once: chosen by cost, priced as links carry them, in files;
// FlexShard's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/hot_rows.h"
#include "message_of.h"
#include "neuroshard/c_api.h"
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
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::popular_task;
using testing::row_wise_plan;

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
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(30))) {
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

// Beside those on every device, the next ones that each node's part of the batch looks up once.
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
