// Row blocks and replicas that have a price of their kind, counted anew from the plan.
#include "neuroshard/kind_prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

#include "message_of.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/explanation.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/training_ranges.h"
#include "numbers.h"
#include "plain_table.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::kGib;
using testing::message_of;
using testing::plain_table;
using testing::random_models;

TEST(KindPrices, AmountsAreThoseOfAShard) {
  // 65,536 samples, a quarter of 20 lookups each.
  const ShardAmounts block = shard_amounts(65536, 64, 20.0, 1.0, 0.25);
  EXPECT_DOUBLE_EQ(block[0], 1.0);
  EXPECT_DOUBLE_EQ(block[1], 8.0 * 65536 * 5 / kGib);
  EXPECT_DOUBLE_EQ(block[2], 4.0 * 64 * 65536 * 5 / kGib);
  EXPECT_DOUBLE_EQ(block[3], 4.0 * 64 * 65536 / kGib);
  EXPECT_DOUBLE_EQ(block[4], 8.0 * 65536 * 20 / kGib);
  // Half of the samples have no lookup, and no output.
  EXPECT_DOUBLE_EQ(shard_amounts(1000, 8, 0.5, 1.0, 1.0)[3], 4.0 * 8 * 500 / kGib);
  // Each of three features has an output of its own.
  EXPECT_DOUBLE_EQ(shard_amounts(1000, 8, 20.0, 3.0, 0.5)[3], 4.0 * 8 * 3000 / kGib);
  // Weights come with the ids.
  EXPECT_DOUBLE_EQ(shard_amounts(1000, 8, 20.0, 1.0, 0.5, 12.0)[1], 12.0 * 10'000 / kGib);
  EXPECT_DOUBLE_EQ(shard_amounts(1000, 8, 20.0, 1.0, 0.5, 12.0)[4], 12.0 * 20'000 / kGib);
  const KindPrice price{{1.0, 2.0, 3.0, 4.0, 5.0}};
  EXPECT_DOUBLE_EQ(price.price_ms({1.0, 10.0, 100.0, 1000.0, 10000.0}), 54321.0);
}

TEST(KindPrices, AreValidated) {
  const auto error = [](ShardingKind kind, double number) {
    return message_of([&] { validate(KindPrices{{kind, {{0.0, number}}}}, "w"); });
  };
  for (const ShardingKind kind :
       {ShardingKind::kRow, ShardingKind::kTableRow, ShardingKind::kReplicate}) {
    EXPECT_NO_THROW(validate(KindPrices{{kind, {{0.0, 2.0}}}}));
  }
  EXPECT_THAT(error(ShardingKind::kColumn, 0.0),
              HasSubstr("w: price of kind 'column': only row, table_row and replicate"));
  EXPECT_THAT(error(ShardingKind::kGrid, 0.0), HasSubstr("'grid'"));
  EXPECT_THAT(error(ShardingKind::kRow, -1.0), HasSubstr("'row': one of its numbers is -1"));
  EXPECT_THAT(error(ShardingKind::kReplicate, std::numeric_limits<double>::infinity()),
              HasSubstr("inf; all must be finite"));
}

const KindPrices kPrices = {{ShardingKind::kRow, {{0.5, 10.0, 2.0, 3.0, 7.0}}},
                            {ShardingKind::kTableRow, {{0.25, 5.0, 1.0, 6.0, 4.0}}},
                            {ShardingKind::kReplicate, {{0.125, 20.0, 4.0, 1.0, 0.0}}}};

CostModels priced_models(bool any_batch) {
  CostModels models = random_models(1, {.any_batch = any_batch});
  models.all_reduce = CollectiveModel{.lines = {{4, {0.01, 5.0}}}};
  models.kind_prices = kPrices;
  return models;
}

/// On two nodes of two.
Task four_tables() {
  return {.tables = {plain_table(1000, 16, 3.0), plain_table(50, 8, 0.5), plain_table(400, 32, 7.0),
                     plain_table(600, 16, 2.0), plain_table(10, 4, 1.0)},
          .devices = 4,
          .memory_bytes = 1 << 30,
          .devices_per_node = 2};
}

/// Table 0 is row-wise, 1 replicated, 2 a grid, 3 and 4 are whole.
Plan plan_of_kinds() {
  return {.slices = {{0, 0, 16, 0, 250},
                     {0, 0, 16, 250, 250},
                     {0, 0, 16, 500, 250},
                     {0, 0, 16, 750, 250},
                     {2, 0, 16, 0, 200},
                     {2, 0, 16, 200, 200},
                     {2, 16, 16, 0, 200},
                     {2, 16, 16, 200, 200},
                     {3, 0, 16, 0, 600},
                     {4, 0, 4, 0, 10}},
          .shards = {{0, 4, 8}, {1, 5}, {2, 6}, {9, 3, 7}},
          .replicas = {1}};
}

/// The tables that models predict, where they are.
Task whole_tables_alone() {
  Task task = four_tables();
  task.tables = {task.tables[3], task.tables[4]};
  return task;
}
const Plan kWholeTablesAlone{.slices = {{0, 0, 16, 0, 600}, {1, 0, 4, 0, 10}},
                             .shards = {{0}, {}, {}, {1}}};

double row_ms() {
  return kPrices.at(ShardingKind::kRow).price_ms(shard_amounts(65536, 16, 3.0, 1.0, 0.25));
}
double grid_ms() {
  return kPrices.at(ShardingKind::kTableRow).price_ms(shard_amounts(65536, 16, 7.0, 1.0, 0.5));
}
double replica_ms() {
  return kPrices.at(ShardingKind::kReplicate)
      .price_ms(shard_amounts(65536.0 / 4, 8, 0.5, 1.0, 1.0));
}

TEST(KindPrices, TakeThePlaceOfPredictions) {
  for (const bool any_batch : {false, true}) {
    SCOPED_TRACE(any_batch);
    const auto backend = make_cpu_backend(priced_models(any_batch));
    const PlanCost others = simulate(*backend, whole_tables_alone(), kWholeTablesAlone);
    const PlanCost cost = simulate(*backend, four_tables(), plan_of_kinds());
    for (std::size_t d = 0; d < 4; ++d) {
      const double blocks_ms = row_ms() + grid_ms();
      EXPECT_NEAR(cost.devices[d].compute_ms,
                  others.devices[d].compute_ms + blocks_ms + replica_ms(), 1e-4);
      EXPECT_NEAR(cost.devices[d].replicas_ms, replica_ms(), 1e-12);
      // As many columns and ids take part in the all-to-alls, and all are ready as much later.
      EXPECT_EQ(cost.devices[d].backward_ms, others.devices[d].backward_ms);
      EXPECT_EQ(cost.devices[d].ids_ms, others.devices[d].ids_ms);
      EXPECT_NEAR(cost.devices[d].forward_ms, others.devices[d].forward_ms, 1e-4);
      EXPECT_EQ(cost.devices[d].all_reduce_ms, backend->all_reduce()->cost_ms(4, 50 * 8 * 4));
    }
    // The contents of the devices stay as they are.
    EXPECT_EQ(cost.devices[0].slices, 3);
    EXPECT_EQ(cost.devices[0].dim_sum, 16 + 16 + 16);
    EXPECT_NEAR(cost.devices[0].lookups, 3.0 / 4 + 7.0 / 2 + 2.0, 1e-6);
    EXPECT_EQ(cost.devices[1].memory.weight_bytes, 4 * (250 * 16 + 200 * 16 + 50 * 8));
  }
}

TEST(KindPrices, OfKindsThatHaveNoneModelsPredict) {
  CostModels models = priced_models(true);
  models.kind_prices.erase(ShardingKind::kRow);
  models.kind_prices.erase(ShardingKind::kReplicate);
  Task task = four_tables();
  task.tables = {task.tables[0]};
  Plan row_wise = {.slices = {{0, 0, 16, 0, 250},
                              {0, 0, 16, 250, 250},
                              {0, 0, 16, 500, 250},
                              {0, 0, 16, 750, 250}},
                   .shards = {{0}, {1}, {2}, {3}}};
  const PlanCost without =
      simulate(*make_cpu_backend(random_models(1, {.any_batch = true})), task, row_wise);
  EXPECT_EQ(simulate(*make_cpu_backend(models), task, row_wise).cost_ms, without.cost_ms);
  const PlanCost with = simulate(*make_cpu_backend(priced_models(true)), task, row_wise);
  EXPECT_NE(with.cost_ms, without.cost_ms);
}

TEST(KindPrices, AreOverTheSpeedOfADevice) {
  const auto backend = make_cpu_backend(priced_models(true));
  Task task = four_tables();
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  const PlanCost even = simulate(*backend, task, plan_of_kinds());
  task.device_list[1].speed = 0.5;
  const PlanCost slow = simulate(*backend, task, plan_of_kinds());
  EXPECT_NEAR(slow.devices[1].compute_ms, 2.0 * even.devices[1].compute_ms, 1e-4);
}

TEST(KindPrices, ReplicasNeedNoModelOfAnyBatch) {
  CostModels models = priced_models(false);
  EXPECT_TRUE(models.prices_replicas());
  EXPECT_NO_THROW(require_replicas(*make_cpu_backend(models)));
  models.kind_prices.erase(ShardingKind::kReplicate);
  EXPECT_FALSE(models.prices_replicas());
  models = priced_models(false);
  models.all_reduce.reset();
  EXPECT_FALSE(models.prices_replicas());
}

TEST(KindPrices, AreOfOneNetwork) {
  CostModels models = priced_models(true);
  set_known_network(models, NodeNetwork{8, {300.0, 25.0}});
  Task task = four_tables();
  task.links = NodeLinks{.in_node_gb_s = 100.0, .between_nodes_gb_s = 10.0};
  EXPECT_THAT(message_of([&] { (void)models_for(models, comm_setting(task)); }),
              HasSubstr("prices of row blocks or replicas are those of one network"));
}

TEST(KindPrices, ExplanationsKnowThem) {
  CostModels models = priced_models(true);
  for (CommNetwork* network : {&models.symmetric_comm->forward, &models.symmetric_comm->backward}) {
    for (DenseLayer& layer : std::get<SymmetricCommNetwork>(*network).network.layers) {
      std::ranges::fill(layer.weight, 0.0F);  // Nothing but shards costs anything.
      std::ranges::fill(layer.bias, 0.0F);
    }
  }
  const PlanExplanation explanation =
      explain(*make_cpu_backend(models), four_tables(), plan_of_kinds());
  const std::vector<DeviceCost>& devices = explanation.cost.devices;
  for (std::size_t d = 0; d < 4; ++d) {
    for (const SliceExplanation& one : explanation.slices[d]) {
      if (one.held.table > 2) continue;
      EXPECT_NEAR(devices[d].total_ms() - one.without.device_ms,
                  one.held.table == 0 ? row_ms() : grid_ms(), 1e-4);
    }
  }
}

TEST(KindPrices, NothingIsSaidOfRangesForThem) {
  CostModels models = priced_models(true);
  models.metadata[TrainingRanges::key("compute", "row")] = "300 to 1000";
  models.metadata[TrainingRanges::key("compute", "slices")] = "1 to 1";
  Task task = four_tables();
  task.tables[4].rows = 300;
  Plan plan = plan_of_kinds();
  plan.slices.back().rows = 300;
  const PlanCost cost = simulate(*make_cpu_backend(models), task, plan);
  EXPECT_EQ(TrainingRanges(models).warning(task, plan, cost), "");
  models.kind_prices.clear();
  EXPECT_THAT(TrainingRanges(models).warning(task, plan, cost), HasSubstr("a row block of table"));
}

}  // namespace
}  // namespace neuroshard
