// Whole plans of public models' tables: what the built-in weights predict, against the analytic
// costs that they were trained on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/plans/plan_accuracy.h"
#include "core/plans/id_exchange.h"
#include "core/tables/exchange_fields.h"
#include "golden.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_file.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

const std::vector<Task>& table_sets() {
  static const std::vector<Task> sets = [] {
    std::vector<Task> all;
    for (const auto& entry : std::filesystem::directory_iterator(NEUROSHARD_TABLE_SETS)) {
      if (entry.path().extension() != ".json") continue;
      std::vector<Table> tables = load_task(entry.path()).tables;
      // Thousands of tables take long, and each device gets some of them as it does of hundreds.
      if (tables.size() > 600) continue;
      all.push_back(
          {.tables = std::move(tables), .devices = 0, .memory_bytes = bytes_from_gib(40)});
    }
    return all;
  }();
  return sets;
}

class WholePlans : public ::testing::TestWithParam<int> {};

// Balanced plans of slices as narrow as 4 columns, plans of whole tables, and plans that leave half
// of the devices empty. `prepared`: what becomes of each task before.
template <typename Prepared>
void expect_accurate(const CostModels& models, PlanAccuracy accuracy, int devices, double most,
                     const Prepared& prepared) {
  for (Task task : table_sets()) {
    task.devices = devices;
    prepared(task);
    const auto backend =
        make_cpu_backend(models_for(models, comm_setting(task, hardware_network(models))));
    for (const int width : {4, 32, 256}) {
      for (const int used_devices : {task.devices, task.devices / 2}) {
        const auto plan = uniform_width_plan(task, width, used_devices);
        if (plan) accuracy.add(*backend, task, *plan);
      }
    }
  }
  ASSERT_GT(accuracy.plans(), 30U);
  EXPECT_LE(accuracy.mape(), most);
  EXPECT_LE(std::abs(accuracy.bias()), 0.75 * most);
}

TEST_P(WholePlans, ArePredictedWithinThreePercent) {
  for (const std::string_view hardware : trained_hardware()) {
    if (hardware != kDefaultHardware && GetParam() % 16 != 0) continue;
    SCOPED_TRACE(hardware);
    expect_accurate(builtin_weights(hardware), PlanAccuracy(hardware), GetParam(), 0.03,
                    [](Task&) {});
  }
}

// The communication model was not trained on 11, 20, 72, 100, 200, 384, 600, 768 and 1,000 devices.
INSTANTIATE_TEST_SUITE_P(DeviceCounts, WholePlans,
                         ::testing::Values(2, 4, 8, 11, 16, 20, 32, 40, 64, 72, 100, 128, 200, 256,
                                           384, 512, 600, 768, 1000, 1024));

// A plan of the search, and one of replicas alone, whose all-reduces are those of the datasheet.
void expect_planned_as_priced(const Hardware& hardware) {
  Task task{.tables = testing::golden_tables(), .devices = 16, .memory_bytes = bytes_from_gib(64)};
  task.tables.resize(120);
  for (Table& table : task.tables) table.dim = 64;
  const auto priced_ms = [&](const Plan& plan) {
    return analytic_plan_cost(hardware.gpu, hardware.network, task, plan).cost_ms;
  };
  const Planner planner(builtin_weights(hardware), {.effort = Effort::kFast, .threads = 1});
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_NEAR(result.cost.cost_ms / priced_ms(*result.plan), 1.0, 0.04);
  EXPECT_EQ(result.cost.warning.find("doubtful"), std::string::npos) << result.cost.warning;
  Plan replicas{.slices = {}, .shards = std::vector<std::vector<int>>(16)};
  for (int i = 0; i < 120; ++i) replicas.replicas.push_back(i);
  EXPECT_NEAR(planner.simulate(task, replicas).cost_ms / priced_ms(replicas), 1.0, 0.04);
}

// Models of hardware that none were trained on are scaled.
TEST(WholePlansOfScaledWeights, ArePredictedWithinFourPercent) {
  std::size_t scaled = 0;
  std::size_t next = 0;
  for (const Hardware& hardware : known_hardware()) {
    if (std::ranges::find(trained_hardware(), hardware.name) != trained_hardware().end()) continue;
    if (++scaled % 4 != 0 && NEUROSHARD_SANITIZED) continue;
    SCOPED_TRACE(hardware.name);
    expect_planned_as_priced(hardware);
    for (const int devices : {4, 16, 144}) {
      if (next++ % 3 >= testing::repetitions(3)) continue;
      SCOPED_TRACE(devices);
      expect_accurate(builtin_weights(hardware), PlanAccuracy(hardware.name), devices, 0.04,
                      [](Task&) {});
    }
  }
}

// Half of the devices are then whole nodes, mostly, which changes what links carry most. 12 devices
// have a node of 8 and one of 4.
TEST(WholePlansOnNodes, ArePredictedWithinFourPercent) {
  struct Setting {
    NodeLinks links;
    int per_node;
  };
  std::vector<Setting> settings;
  for (const NodeLinks& links :
       {NodeLinks{.node_gb_s = 25.0}, NodeLinks{.between_nodes_gb_s = 5.0},
        NodeLinks{.in_node_gb_s = 31.5, .between_nodes_gb_s = 12.5, .node_gb_s = 50.0}}) {
    for (const int per_node : {2, 8}) settings.push_back({links, per_node});
  }
  std::size_t next = 0;
  for (const int devices : {4, 12, 16, 64, 200}) {
    for (std::size_t i = 0; i < testing::repetitions(settings.size()); ++i) {
      const Setting& setting = settings[next++ % settings.size()];
      SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(setting.per_node) +
                   " a node, node_gb_s " + std::to_string(setting.links.node_gb_s));
      expect_accurate(builtin_weights(), PlanAccuracy(), devices, 0.04, [&](Task& task) {
        task.devices_per_node = setting.per_node;
        task.links = setting.links;
      });
    }
  }
}

TEST(WholePlansOfTypes, ArePredictedWithinThreePercent) {
  const std::vector<ExchangeTypes> all = {
      {.forward = WireType::kFp16, .backward = WireType::kBf16, .ids = WireType::kInt32},
      {.backward = WireType::kFp8},
      {.forward = WireType::kFp8, .backward = WireType::kFp8},
      {.forward_share = 0.01, .backward_share = 0.05}};
  std::size_t next = 0;
  for (const int devices : {8, 16, 64, 128}) {
    for (std::size_t i = 0; i < testing::repetitions(all.size()); ++i) {
      const ExchangeTypes& exchange = all[next++ % all.size()];
      SCOPED_TRACE(std::to_string(devices) + " devices, " + exchange_text(exchange));
      expect_accurate(builtin_weights(), PlanAccuracy(), devices, 0.03,
                      [&](Task& task) { task.exchange = exchange; });
    }
  }
}

// Ids are priced by gradients of other columns, and of other bytes for each.
TEST(WholePlansOfTypes, IdsTakeAsLongWhateverGradientsAre) {
  const auto ids_ms = [](double lookups, const ExchangeTypes& types) {
    const auto backend =
        make_cpu_backend(models_for(builtin_weights(), {.devices = 64, .exchange = types}));
    return IdExchange(*backend, 64).ms(lookup_units(lookups));
  };
  for (const double lookups : {20.0, 200.0, 2000.0, 20000.0}) {
    const double usual = ids_ms(lookups, {});
    EXPECT_NEAR(ids_ms(lookups, {.backward = WireType::kBf16}), usual, 0.05 * usual) << lookups;
    EXPECT_NEAR(ids_ms(lookups, {.backward = WireType::kFp8}), usual, 0.05 * usual) << lookups;
    EXPECT_NEAR(ids_ms(lookups, {.backward_share = 0.05}), usual, 0.05 * usual) << lookups;
    EXPECT_NEAR(ids_ms(lookups, {.ids = WireType::kInt32}), ids_ms(lookups / 2.0, {}), 1e-9);
  }
}

}  // namespace
}  // namespace neuroshard::bench
