#include "core/plans/id_exchange.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/placement/cpu_backend.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using testing::random_models;

TEST(IdExchange, CountsEightBytesALookupAgainstFourAColumn) {
  EXPECT_EQ(id_columns(lookup_units(0.0), {}), 0);
  EXPECT_EQ(id_columns(lookup_units(3.0), {}), 6);
  EXPECT_EQ(id_columns(lookup_units(0.3), {}), 1);
  EXPECT_EQ(id_columns(lookup_units(0.3) + lookup_units(0.4), {}), 2);
  EXPECT_DOUBLE_EQ(lookups_of(lookup_units(2.5)), 2.5);
}

TEST(IdExchange, TakesWhatTheGradientsOfSoManyColumnsOnEveryDeviceTake) {
  for (const std::vector<int>& dense : {std::vector<int>{3}, std::vector<int>{}}) {
    const auto backend = make_cpu_backend(random_models(5, {.devices = dense, .any_batch = true}));
    IdExchange ids(*backend, 3);
    EXPECT_TRUE(ids.priced());
    std::vector<float> ms(3);
    for (const int columns : {0, 7, 300, 7, 263}) {  // 7 and 263 share a place in the memory.
      backend->backward_comm(3, std::vector<float>(3, static_cast<float>(columns)), ms);
      EXPECT_EQ(ids.ms(lookup_units(columns / 2.0)),
                static_cast<double>(*std::max_element(ms.begin(), ms.end())))
          << columns;
    }
  }
}

// By models of gradients that are half as many bytes, of which ids are twice as many columns.
TEST(IdExchange, DependsOnTheirTypeAndNotOnThatOfGradients) {
  const CostModels models = random_models(5, {.devices = {}, .any_batch = true});
  const auto backend = make_cpu_backend(models);
  const auto exact_ms = [&](double columns) {
    std::vector<float> ms(3);
    backend->backward_comm(3, std::vector<float>(3, static_cast<float>(columns)), ms);
    return static_cast<double>(*std::max_element(ms.begin(), ms.end()));
  };
  const double lookups = 10.5;
  const auto ids_ms = [&](const ExchangeTypes& types) {
    const auto of_types = make_cpu_backend(models_for(models, {.devices = 3, .exchange = types}));
    return IdExchange(*of_types, 3).ms(lookup_units(lookups));
  };
  EXPECT_EQ(ids_ms({}), exact_ms(21));
  EXPECT_EQ(ids_ms({.forward = WireType::kFp8, .forward_share = 0.1}), exact_ms(21));
  EXPECT_EQ(ids_ms({.ids = WireType::kInt32}), exact_ms(11));
  EXPECT_NEAR(ids_ms({.backward = WireType::kBf16}), 0.5 * exact_ms(42) + 0.5 * exact_ms(0), 1e-5);
  EXPECT_NEAR(ids_ms({.ids = WireType::kInt32, .backward_share = 0.25}),
              0.25 * exact_ms(42) + 0.75 * exact_ms(0), 1e-5);
}

TEST(IdExchange, WeightsOfLookupsAreFourBytesBesideTheirIds) {
  Table table{.pooling_factor = 10.0};
  EXPECT_EQ(id_units(table, {}), lookup_units(10.0));
  EXPECT_EQ(id_units(table, {.ids = WireType::kInt32}), lookup_units(10.0));
  table.weighted = true;
  EXPECT_EQ(id_units(table, {}), lookup_units(15.0));
  EXPECT_EQ(id_columns(id_units(table, {}), {}), 30);  // 120 bytes.
  const ExchangeTypes narrow{.ids = WireType::kInt32};
  EXPECT_EQ(id_units(table, narrow), lookup_units(20.0));
  EXPECT_EQ(id_columns(id_units(table, narrow), narrow), 20);
}

TEST(IdExchange, BeyondWhatNetworksWereTrainedOnGrowsWithTheBytes) {
  const auto backend = make_cpu_backend(random_models(5, {.devices = {}, .any_batch = true}));
  IdExchange ids(*backend, 3);
  const auto of_columns = [&](int columns) { return ids.ms(lookup_units(columns / 2.0)); };
  const double nothing = of_columns(0);
  const double most = of_columns(8192);
  EXPECT_DOUBLE_EQ(of_columns(3 * 8192), nothing + 3.0 * (most - nothing));
  EXPECT_NEAR(of_columns(8193), most, 1e-3 * std::abs(most) + 1e-3);
}

TEST(IdExchange, HasAModelOfItsOwn) {
  CostModels models = random_models(5, {.devices = {}, .any_batch = true});
  models.ids = CollectiveModel{.lines = {{2, {1.5, 100.0}}, {4, {2.5, 300.0}}}};
  const auto ids_ms = [&](const ExchangeTypes& types, double lookups) {
    const CommSetting setting{.batch_size = 4096, .devices = 3, .exchange = types};
    const auto backend = make_cpu_backend(models_for(models, setting));
    return IdExchange(*backend, 3).ms(lookup_units(lookups));
  };
  const double gib = 50.0 * 8.0 * 4096.0 / static_cast<double>(bytes_from_gib(1.0));
  EXPECT_DOUBLE_EQ(ids_ms({}, 50.0), 2.0 + 200.0 * gib);
  EXPECT_DOUBLE_EQ(ids_ms({.ids = WireType::kInt32}, 100.0), 2.0 + 200.0 * gib);
  EXPECT_DOUBLE_EQ(ids_ms({.backward = WireType::kBf16}, 50.0), 2.0 + 200.0 * gib);
}

TEST(IdExchange, CostsNothingWithModelsThatLeaveItOut) {
  const auto backend = make_cpu_backend(random_models(5));
  IdExchange ids(*backend, 3);
  EXPECT_FALSE(ids.priced());
  EXPECT_EQ(ids.ms(lookup_units(50.0)), 0.0);
}

TEST(IdExchange, IsPartOfWhatAPlanCosts) {
  const auto backend = make_cpu_backend(random_models(6, {.any_batch = true}));
  Task task{.devices = 2, .memory_bytes = 1 << 20};
  for (const double pooling : {2.0, 5.0, 1.5}) {
    Table table{.rows = 100, .dim = 8, .pooling_factor = pooling};
    table.access_histogram[0] = 1.0;
    task.tables.push_back(table);
  }
  // Device 1 gets half of the ids of table 1, a block of its rows, and all of table 0's, in halves.
  const Plan plan{{{0, 0, 4, 0, 100},
                   {0, 4, 4, 0, 100},
                   {1, 0, 8, 0, 50},
                   {1, 0, 8, 50, 50},
                   {2, 0, 8, 0, 100}},
                  {{0, 2, 4}, {1, 3}}};
  const PlanCost cost = simulate(*backend, task, plan);
  EXPECT_DOUBLE_EQ(cost.devices[0].lookups, 2.0 + 2.5 + 1.5);
  EXPECT_DOUBLE_EQ(cost.devices[1].lookups, 2.0 + 2.5);
  const double ids_ms = IdExchange(*backend, 2).ms(lookup_units(6.0));
  EXPECT_NE(ids_ms, 0.0);
  double slowest = -1e9;
  for (const DeviceCost& device : cost.devices) {
    EXPECT_EQ(device.ids_ms, ids_ms);
    EXPECT_DOUBLE_EQ(device.total_ms(),
                     device.compute_ms + device.backward_ms + device.forward_ms + ids_ms);
    slowest = std::max(slowest, device.total_ms());
  }
  EXPECT_NEAR(cost.cost_ms, slowest, 1e-9);
}

}  // namespace
}  // namespace neuroshard
