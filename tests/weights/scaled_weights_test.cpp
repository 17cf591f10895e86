#include "weights/scaled_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "golden.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tests/message_of.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Hardware datasheet(double memory_gb_s, double l2_mib, double clock_ghz = 1.5) {
  return {"mine",
          {"mine", memory_gb_s, l2_mib * 1048576.0, 100, clock_ghz},
          {"links of mine", 4, {.in_node_gb_s = 100.0, .between_nodes_gb_s = 10.0}}};
}

Task task_of_tables(std::size_t tables, int devices) {
  Task task{.tables = testing::golden_tables(), .devices = devices, .memory_bytes = 64LL << 30};
  task.tables.resize(tables);
  for (Table& table : task.tables) table.dim = 64;
  return task;
}

TEST(ScaledWeights, AreTheSameEveryTime) {
  const Hardware hardware = datasheet(1500.0, 20.0);
  EXPECT_EQ(serialize_weights(scaled_weights(hardware)),
            serialize_weights(scaled_weights(hardware)));
}

TEST(ScaledWeights, SurviveAFile) {
  const CostModels models = builtin_weights("l40s");
  const CostModels copy = parse_weights(serialize_weights(models), "copy");
  EXPECT_EQ(hardware_network(copy), hardware_named("l40s").network.nodes());
  EXPECT_EQ(serialize_weights(copy), serialize_weights(models));
}

TEST(ScaledWeights, SayWhatTheyAreAndHowAccurate) {
  const CostModels& models = builtin_weights("gb200");
  EXPECT_EQ(models.metadata.at("hardware"), "gb200-nvl72-ndr, gb200-186gb");
  EXPECT_THAT(models.metadata.at("source"),
              HasSubstr("scaled from h200: on costs held back compute is off by 2."));
  EXPECT_FALSE(models.metadata.contains("warning"));
  EXPECT_FALSE(models.metadata.contains("compute.test"));  // Not that of h200.
  EXPECT_EQ(builtin_place("gb200"), "built-in weights of gb200");
}

// Launches are all that costs on a GPU that is a hundred times as fast.
TEST(ScaledWeights, WarnWhereTheyAreFarOff) {
  const CostModels models = builtin_weights(datasheet(1e6, 100.0, 100.0));
  ASSERT_TRUE(models.metadata.contains("warning")) << models.metadata.at("source");
  const Task task = task_of_tables(8, 8);
  const PlanResult result = Planner(models, {.effort = Effort::kFast, .threads = 1}).plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_THAT(result.cost.warning,
              HasSubstr("predictions are doubtful; train weights of your own"));
}

TEST(ScaledWeights, AreMadeOnceForThreads) {
  std::vector<const CostModels*> named(4);
  std::vector<std::string> own(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        named[i] = &builtin_weights("t4");
        own[i] = serialize_weights(builtin_weights(datasheet(700.0, 6.0)));
      });
    }
  }
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(named[i], named[0]);
    EXPECT_EQ(own[i], own[0]);
  }
}

TEST(ScaledWeights, OfAListedNameAreOfItsDatasheet) {
  Hardware other = hardware_named("t4");
  EXPECT_EQ(serialize_weights(builtin_weights(other)), serialize_weights(builtin_weights("t4")));
  other.gpu.hbm_gb_per_s *= 2.0;
  EXPECT_THAT(testing::message_of([&] { (void)builtin_weights(other); }),
              HasSubstr("hardware: name is 't4', of which there is a datasheet"));
}

// A switch for nodes of 72 devices, a shared PCIe path, a mesh.
TEST(ScaledWeights, PlansArePredictedAsDatasheetsPriceThem) {
  for (const char* name : {"gb200", "a10", "mi300x"}) {
    SCOPED_TRACE(name);
    const Hardware& hardware = hardware_named(name);
    const Task task = task_of_tables(120, 16);
    const Planner planner(builtin_weights(name), {.effort = Effort::kFast, .threads = 1});
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    const PlanCost priced = analytic_plan_cost(hardware.gpu, hardware.network, task, *result.plan);
    EXPECT_NEAR(result.cost.cost_ms, priced.cost_ms, 0.04 * priced.cost_ms);
    EXPECT_THAT(result.cost.warning, Not(HasSubstr("doubtful")));
    // Replicas alone: all-reduces of the same datasheet.
    Plan replicas{.slices = {}, .shards = std::vector<std::vector<int>>(16)};
    for (int i = 0; i < 120; ++i) replicas.replicas.push_back(i);
    const double replicas_ms =
        analytic_plan_cost(hardware.gpu, hardware.network, task, replicas).cost_ms;
    EXPECT_NEAR(planner.simulate(task, replicas).cost_ms, replicas_ms, 0.04 * replicas_ms);
  }
}

}  // namespace
}  // namespace neuroshard
