// Tables that are pooled by mean or not at all, and lookups with weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "message_of.h"
#include "neuroshard/backend.h"
#include "neuroshard/explanation.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/task_file.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "search/task_texts.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;
using testing::task_with_table;

std::string text_with(const std::string& fields) {
  return task_with_table(R"({"row": 1000, "dim": 16, "pooling_factor": 6)" + fields + "}");
}

TEST(PoolingOfTables, IsReadFromFilesAndWrittenToThem) {
  const auto read = [](const std::string& fields) {
    return parse_task(text_with(fields), "a.json").tables.front();
  };
  EXPECT_EQ(read("").pooling, Pooling::kSum);
  EXPECT_FALSE(read("").weighted);
  EXPECT_EQ(read(R"(, "pooling": "sum")").pooling, Pooling::kSum);
  std::vector<Table> tables{read(R"(, "pooling": "mean")"), read(R"(, "pooling": "none")"),
                            read(R"(, "weighted": true)")};
  EXPECT_EQ(tables[0].pooling, Pooling::kMean);
  EXPECT_EQ(tables[1].pooling, Pooling::kNone);
  EXPECT_TRUE(tables[2].weighted);
  const TableConfigs again =
      parse_table_configs(serialize_table_configs(tables, true, kDefaultBatchSize), "b.json");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    EXPECT_EQ(again.tables[t].pooling, tables[t].pooling);
    EXPECT_EQ(again.tables[t].weighted, tables[t].weighted);
  }
  EXPECT_EQ(task_error(text_with(R"(, "pooling": "max")")),
            "a.json: table 0: pooling: there is no pooling 'max'; use one of sum, mean, none");
  EXPECT_EQ(task_error(text_with(R"(, "weighted": 1)")),
            "a.json: table 0: weighted: give true or false");
  EXPECT_THAT(task_error(text_with(R"(, "weighted": true, "pooling": "none")")),
              StartsWith("a.json: table 0: weighted is true, but nothing is pooled"));
  EXPECT_THAT(task_error(task_with_table(
                  R"({"row": 10, "dim": 256, "pooling_factor": 2e6, "pooling": "none"})")),
              HasSubstr("pooling_factor 2e+06 times dim 256 is more than 2^28 columns"));
}

TEST(PoolingOfTables, DeduplicationIsReadFromTaskFiles) {
  const auto read = [](const std::string& exchange) {
    return parse_task(
               task_text_with(R"("devices": 2, "memory_gb": 1, "exchange": )" + exchange + ", "),
               "a.json")
        .exchange;
  };
  EXPECT_FALSE(read("{}").deduplicate_ids);
  EXPECT_TRUE(read(R"({"deduplicate_ids": true})").deduplicate_ids);
  EXPECT_EQ(read(R"({"deduplicate_ids": false})"), ExchangeTypes{});
  EXPECT_EQ(task_error(task_text_with(R"("exchange": {"deduplicate_ids": "yes"}, )")),
            "a.json: exchange: deduplicate_ids: give true or false");
}

/// A model with sequences of which some are long, beside tables that are pooled.
Task sequence_task(int devices) {
  Task task{.devices = devices, .memory_bytes = bytes_from_gib(64.0), .batch_size = 4096};
  const auto add = [&](std::int64_t rows, int dim, double pooling_factor, Pooling pooling) {
    Table table{.rows = rows,
                .dim = dim,
                .pooling_factor = pooling_factor,
                .access_histogram = zipf_histogram(rows, pooling_factor),
                .pooling = pooling};
    table.memory.batch_size = task.batch_size;
    task.tables.push_back(table);
  };
  add(20'000'000, 128, 512.0, Pooling::kNone);
  add(1'000'000, 128, 256.0, Pooling::kNone);
  add(50'000, 64, 64.0, Pooling::kNone);
  for (int i = 0; i < 10; ++i) add(500'000, 64, 10.0, i % 2 == 0 ? Pooling::kSum : Pooling::kMean);
  return task;
}

TEST(PoolingOfTables, FingerprintsTellThemApart) {
  const auto of = [](const Task& task) { return fingerprint(task, {}, builtin_weights()); };
  const Task task = sequence_task(8);
  std::vector<std::uint64_t> different{of(task)};
  for (const auto& change : std::vector<std::function<void(Task&)>>{
           [](Task& t) { t.tables[0].pooling = Pooling::kSum; },
           [](Task& t) { t.tables[0].pooling = Pooling::kMean; },
           [](Task& t) { t.tables[4].weighted = true; },
           [](Task& t) { t.exchange.deduplicate_ids = true; }}) {
    Task changed = task;
    change(changed);
    different.push_back(of(changed));
  }
  std::ranges::sort(different);
  EXPECT_EQ(std::ranges::adjacent_find(different), different.end());
}

const GpuSpec& a100() { return gpu_named("a100-sxm-80gb"); }
const NetworkSpec& a100_network() { return network_named("a100-nvlink3-hdr"); }

/// All bytes of outputs that a device sends at least, over its links in the node.
double least_forward_ms(const Task& task) {
  double bytes = 0.0;
  for (const Table& table : task.tables) {
    bytes += 4.0 * table.dim * outputs_per_sample(table) * static_cast<double>(task.batch_size);
  }
  const double of_device = bytes / task.devices * (task.devices - 1) / task.devices;
  return of_device / 300e6;
}

// An HSTU-like table.
TEST(PoolingOfTables, ASequenceIsSentAsAWhole) {
  Task task{.tables = parse_task(task_with_table(R"({"row": 100000000, "dim": 256,
      "pooling_factor": 8192, "weight_type": "fp16", "pooling": "none"})"),
                                 "a.json")
                          .tables,
            .devices = 8,
            .memory_bytes = bytes_from_gib(80.0),
            .batch_size = 1024};
  const Planner planner(builtin_weights(), {.threads = 1});
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.cost.warning, "");
  const PlanCost priced = analytic_plan_cost(a100(), a100_network(), task, *result.plan);
  EXPECT_GT(priced.devices[0].forward_ms, least_forward_ms(task));  // 3.1 ms.
  EXPECT_LT(priced.devices[0].forward_ms, 1.5 * least_forward_ms(task));
  EXPECT_NEAR(result.cost.devices[0].forward_ms / priced.devices[0].forward_ms, 1.0, 0.05);
  EXPECT_NEAR(result.cost.devices[0].backward_ms / priced.devices[0].backward_ms, 1.0, 0.05);
  EXPECT_NEAR(result.cost.cost_ms / priced.cost_ms, 1.0, 0.05);
}

TEST(PoolingOfTables, PlansKnowOfLookupsThatAreSent) {
  const Planner planner(builtin_weights(), {.threads = 1});
  for (const int devices : {2, 8, 16}) {
    SCOPED_TRACE(devices);
    const Task task = sequence_task(devices);
    Task as_sums = task;
    for (Table& table : as_sums.tables) table.pooling = Pooling::kSum;
    const PlanResult knows = planner.plan(task);
    const PlanResult does_not = planner.plan(as_sums);
    ASSERT_TRUE(knows.plan && does_not.plan);
    const auto price = [&](const Plan& plan) {
      return analytic_plan_cost(a100(), a100_network(), task, plan).cost_ms;
    };
    EXPECT_LE(price(*knows.plan), 1.02 * price(*does_not.plan));
    EXPECT_NEAR(knows.cost.cost_ms / price(*knows.plan), 1.0, 0.08);
    EXPECT_GT(knows.cost.cost_ms, 2.0 * does_not.cost.cost_ms);
    const PlanCost cost = planner.simulate(task, *knows.plan);
    EXPECT_EQ(cost.cost_ms, knows.cost.cost_ms);
    EXPECT_EQ(planner.explain(task, *knows.plan).cost.cost_ms, cost.cost_ms);
  }
}

Plan plan_of(const Task& task, const std::vector<std::vector<TableSlice>>& shards) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (std::size_t d = 0; d < shards.size(); ++d) {
    for (const TableSlice& slice : shards[d]) {
      plan.shards[d].push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back(slice);
    }
  }
  return plan;
}

// Row blocks of sums send each of them: a device has the columns of all samples.
TEST(PoolingOfTables, BlocksOfRowsHaveNoMoreOutputsThanTheTable) {
  Task task = sequence_task(4);
  task.tables.resize(2);
  task.tables[1] = task.tables[0];
  task.tables[1].pooling = Pooling::kSum;
  const std::int64_t quarter = task.tables[0].rows / 4;
  std::vector<std::vector<TableSlice>> shards;
  for (int d = 0; d < 4; ++d) {
    shards.push_back({{0, 0, 128, d * quarter, quarter}, {1, 0, 128, d * quarter, quarter}});
  }
  const auto backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
  const PlanCost cost = simulate(*backend, task, plan_of(task, shards));
  for (const DeviceCost& device : cost.devices) {
    EXPECT_EQ(device.dim_sum, 128 * 512 / 4 + 128);
    EXPECT_DOUBLE_EQ(device.lookups, 2.0 * 512 / 4);
  }
  EXPECT_EQ(cost.devices[0].memory.buffer_bytes,
            2 * 8 * 4096 * 512 / 4 + 4096 * 512 / 4 * 128 * 4 + 4096 * 128 * 4);
}

// Samples of training had tables of all poolings, but seldom so many of one.
TEST(PoolingOfTables, PredictedCostsMeetAnalyticOnes) {
  const auto compare = [](Pooling pooling, bool weighted, double pooling_factor, int dim,
                          double tolerance) {
    SCOPED_TRACE(::testing::Message() << name_of(pooling) << (weighted ? ", weighted" : "") << ", "
                                      << pooling_factor << " lookups, dim " << dim);
    Task task = sequence_task(8);
    // Sequences are long, and few.
    if (pooling != Pooling::kNone) task.batch_size = kDefaultBatchSize;
    Table table = task.tables.front();
    table.rows = 2'000'000;
    table.dim = dim;
    table.pooling_factor = pooling_factor;
    table.access_histogram = zipf_histogram(table.rows, pooling_factor);
    table.pooling = pooling;
    table.weighted = weighted;
    task.tables.assign(24, table);
    std::vector<std::vector<TableSlice>> shards(8);
    for (int t = 0; t < 24; ++t) {
      shards[static_cast<std::size_t>(t % 8)].push_back({t, 0, dim, 0, table.rows});
    }
    const Plan plan = plan_of(task, shards);
    const auto backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
    const PlanCost predicted = simulate(*backend, task, plan);
    const PlanCost priced = analytic_plan_cost(a100(), a100_network(), task, plan);
    EXPECT_NEAR(predicted.devices[0].compute_ms / priced.devices[0].compute_ms, 1.0, tolerance);
    EXPECT_NEAR(predicted.cost_ms / priced.cost_ms, 1.0, tolerance);
  };
  for (const int dim : {32, 128}) {
    for (const double pooling_factor : {20.0, 200.0, 2000.0}) {
      compare(Pooling::kNone, false, pooling_factor, dim, 0.08);
    }
    for (const double pooling_factor : {1.0, 20.0, 200.0}) {
      compare(Pooling::kMean, false, pooling_factor, dim, 0.08);
      compare(Pooling::kSum, true, pooling_factor, dim, 0.1);
    }
  }
}

TEST(PoolingOfTables, CountOnNodesInGridsAndAsReplicas) {
  Task task = sequence_task(16);
  task.links = NodeLinks{.in_node_gb_s = 300.0, .between_nodes_gb_s = 12.5, .node_gb_s = 50.0};
  task.exchange.forward = WireType::kFp16;
  const std::int64_t rows = task.tables[0].rows / 8;
  std::vector<std::vector<TableSlice>> shards(16);
  for (int d = 0; d < 16; ++d) {
    const int column = d < 8 ? 0 : 64;  // A grid of two nodes.
    shards[static_cast<std::size_t>(d)].push_back({0, column, 64, d % 8 * rows, rows});
  }
  for (int t = 3; t < 13; ++t) {
    shards[static_cast<std::size_t>(t)].push_back({t, 0, 64, 0, task.tables[3].rows});
  }
  for (int d = 0; d < 16; ++d) {
    shards[static_cast<std::size_t>(d)].push_back({1, d * 8, 8, 0, task.tables[1].rows});
  }
  Plan plan = plan_of(task, shards);
  plan.replicas = {2};
  EXPECT_TRUE(check_plan(plan, task).empty());
  for (const bool once : {false, true}) {
    SCOPED_TRACE(once);
    task.exchange.deduplicate_ids = once;
    const Planner planner(builtin_weights(), {.threads = 1});
    const PlanCost predicted = planner.simulate(task, plan);
    EXPECT_EQ(predicted.warning, "");
    const PlanCost priced = analytic_plan_cost(a100(), a100_network(), task, plan);
    EXPECT_NEAR(predicted.cost_ms / priced.cost_ms, 1.0, 0.08);
    EXPECT_NEAR(predicted.devices[5].forward_ms / priced.devices[5].forward_ms, 1.0, 0.08);
    EXPECT_NEAR(predicted.devices[5].backward_ms / priced.devices[5].backward_ms, 1.0, 0.08);
    EXPECT_NEAR(predicted.devices[5].replicas_ms / priced.devices[5].replicas_ms, 1.0, 0.25);
    if (once) continue;
    EXPECT_EQ(predicted.devices[0].dim_sum, 512 / 8 * 64 + 256 * 8);
    EXPECT_EQ(predicted.devices[3].dim_sum, 512 / 8 * 64 + 256 * 8 + 64);
  }
}

TEST(PoolingOfTables, WeightsOfLookupsMakeIdsLonger) {
  Task task = sequence_task(8);
  task.tables.erase(task.tables.begin(), task.tables.begin() + 3);
  for (Table& table : task.tables) table.pooling_factor = 200.0;
  const Planner planner(builtin_weights(), {.threads = 1});
  const Plan plan = *planner.plan(task).plan;
  const auto ids_ms = [&](const Task& of, bool priced) {
    return (priced ? analytic_plan_cost(a100(), a100_network(), of, plan)
                   : planner.simulate(of, plan))
        .devices[0]
        .ids_ms;
  };
  Task weighted = task;
  for (Table& table : weighted.tables) table.weighted = true;
  Task nothing = task;
  for (Table& table : nothing.tables) table.pooling_factor = 0.0;
  for (const bool priced : {true, false}) {
    const double base_ms = ids_ms(nothing, priced);
    EXPECT_NEAR((ids_ms(weighted, priced) - base_ms) / (ids_ms(task, priced) - base_ms), 1.5, 0.1);
  }
  EXPECT_EQ(planner.simulate(weighted, plan).devices[0].lookups,
            planner.simulate(task, plan).devices[0].lookups);
}

TEST(PoolingOfTables, DeduplicatedIdsMakeSequencesCheaper) {
  const Planner planner(builtin_weights(), {.threads = 1});
  const Task task = sequence_task(8);
  Task deduplicated = task;
  deduplicated.exchange.deduplicate_ids = true;
  const PlanResult all = planner.plan(task);
  const PlanResult once = planner.plan(deduplicated);
  ASSERT_TRUE(all.plan && once.plan);
  EXPECT_LT(once.cost.cost_ms, 0.9 * all.cost.cost_ms);
  // Whoever is asked for the cost says the same, and so does a batch.
  EXPECT_EQ(planner.simulate(deduplicated, *once.plan).cost_ms, once.cost.cost_ms);
  EXPECT_EQ(planner.explain(deduplicated, *once.plan).cost.cost_ms, once.cost.cost_ms);
  const auto batch = planner.plan_batch(std::vector{task, deduplicated});
  EXPECT_EQ(batch[0]->cost.cost_ms, all.cost.cost_ms);
  EXPECT_EQ(batch[1]->cost.cost_ms, once.cost.cost_ms);
  EXPECT_NEAR(once.cost.cost_ms /
                  analytic_plan_cost(a100(), a100_network(), deduplicated, *once.plan).cost_ms,
              1.0, 0.08);
  EXPECT_LE(analytic_plan_cost(a100(), a100_network(), deduplicated, *once.plan).cost_ms,
            1.02 * analytic_plan_cost(a100(), a100_network(), deduplicated, *all.plan).cost_ms);
  // Buffers are of what is left, for checks, too.
  std::int64_t most = 0;
  for (const DeviceCost& device : once.cost.devices) most = std::max(most, device.memory_bytes);
  deduplicated.memory_bytes = most;
  EXPECT_TRUE(check_plan(*once.plan, deduplicated).empty());
  deduplicated.exchange.deduplicate_ids = false;
  EXPECT_FALSE(check_plan(*once.plan, deduplicated).empty());
}

TEST(PoolingOfTables, DeduplicationOfPooledTablesAloneIsSaidToMakeNoDifference) {
  const Planner planner(builtin_weights(), {.threads = 1});
  Task task = sequence_task(8);
  task.exchange.deduplicate_ids = true;
  EXPECT_EQ(planner.plan(task).cost.warning, "");
  task.tables.erase(task.tables.begin(), task.tables.begin() + 3);
  const PlanResult with = planner.plan(task);
  EXPECT_THAT(with.cost.warning, HasSubstr("deduplicate_ids of exchange makes no difference: all "
                                           "tables are pooled"));
  task.exchange.deduplicate_ids = false;
  const PlanResult without = planner.plan(task);
  EXPECT_EQ(without.cost.warning, "");
  EXPECT_EQ(with.cost.cost_ms, without.cost.cost_ms);
}

TEST(PoolingOfTables, RePlanningKnowsOfThem) {
  const Planner planner(builtin_weights(), {.threads = 1});
  Task task = sequence_task(4);
  task.exchange.deduplicate_ids = true;
  const PlanResult running = planner.plan(task);
  ASSERT_TRUE(running.plan);
  Task longer = task;
  longer.tables[0].pooling_factor *= 2.0;
  const ReplanResult again = planner.replan(longer, {.task = task, .plan = *running.plan}, {});
  ASSERT_TRUE(again.result.plan);
  EXPECT_LE(again.result.cost.cost_ms,
            planner.simulate(longer, *running.plan).cost_ms * (1.0 + 1e-6));
  EXPECT_EQ(planner.simulate(longer, *again.result.plan).cost_ms, again.result.cost.cost_ms);
}

}  // namespace
}  // namespace neuroshard
