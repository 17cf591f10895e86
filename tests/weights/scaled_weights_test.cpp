#include "weights/scaled_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "golden.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tests/message_of.h"
#include "weights/collection/analytic_plan_cost.h"
#include "weights/lookups/wide_population.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

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

TEST(ScaledWeights, AreMadeOnceForThreadsAndTheSameEveryTime) {
  const Hardware hardware = datasheet(700.0, 6.0);
  std::vector<const CostModels*> named(4);
  std::vector<std::string> own(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        named[i] = &builtin_weights("t4");
        own[i] = serialize_weights(builtin_weights(hardware));
      });
    }
  }
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(named[i], named[0]);
    EXPECT_EQ(own[i], own[0]);
  }
  EXPECT_EQ(serialize_weights(scaled_weights(hardware)), own[0]);
  // Hardware of a listed name is of its datasheet.
  Hardware other = hardware_named("t4");
  EXPECT_EQ(serialize_weights(builtin_weights(other)), serialize_weights(*named[0]));
  other.gpu.hbm_gb_per_s *= 2.0;
  EXPECT_THAT(testing::message_of([&] { (void)builtin_weights(other); }),
              HasSubstr("hardware: name is 't4', of which there is a datasheet"));
}

TEST(ScaledWeights, SayWhatTheyAreAndHowAccurateAndSurviveAFile) {
  const CostModels& models = builtin_weights("gb200");
  EXPECT_EQ(models.metadata.at("hardware"), "gb200-nvl72-ndr, gb200-186gb");
  EXPECT_THAT(models.metadata.at("source"),
              HasSubstr("scaled from h200: on costs held back compute is off by 1."));
  EXPECT_FALSE(models.metadata.contains("warning"));
  EXPECT_FALSE(models.metadata.contains("compute.test"));  // Not that of h200.
  EXPECT_EQ(builtin_place("gb200"), "built-in weights of gb200");

  const CostModels copy = parse_weights(serialize_weights(models), "copy");
  EXPECT_EQ(hardware_network(copy), hardware_named("gb200").network.nodes());
  EXPECT_EQ(serialize_weights(copy), serialize_weights(models));
}

// A search finds what models take for cheaper than it is: such shards are among the samples.
TEST(ScaledWeights, AreRightOnPlansThatASearchFinds) {
  const Hardware& hardware = hardware_named("b200");
  const Planner planner(builtin_weights("b200"), {.effort = Effort::kFast, .threads = 1});
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Task task{.tables = draw_wide_population({.tables = 40, .seed = seed}),
              .devices = 4,
              .memory_bytes = std::int64_t{1} << 40};
    Random random(seed);
    for (Table& table : task.tables) table.dim = 4 << random.below(7);
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    ratios.push_back(
        result.cost.cost_ms /
        analytic_plan_cost(hardware.gpu, hardware.network, task, *result.plan).cost_ms);
  }
  EXPECT_THAT(ratios, Each(AllOf(Gt(0.87), Lt(1.05))));
}

}  // namespace
}  // namespace neuroshard
