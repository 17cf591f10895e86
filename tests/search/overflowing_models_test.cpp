// Models whose weights are finite and whose predictions are not, or are no times.
#include <gmock/gmock.h>

#include <cmath>

#include "core/models/final_cost.h"
#include "core/models/symmetric_comm_features.h"
#include "golden.h"
#include "message_of.h"
#include "neuroshard/planner.h"

namespace neuroshard {
namespace {

using ::testing::AllOf;
using testing::golden_models;
using testing::golden_task;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;

constexpr float kHuge = 3e38F;
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Mlp& forward_network(CostModels& models, int devices) {
  return std::get<DenseCommNetwork>(models.dense_comm.at(devices).forward).network;
}
Mlp& backward_network(CostModels& models, int devices) {
  return std::get<DenseCommNetwork>(models.dense_comm.at(devices).backward).network;
}

// Makes output `output` of `network` infinity - infinity for any input that activates two units.
void overflow_output(Mlp& network, int output) {
  DenseLayer& last = network.layers.back();
  DenseLayer& hidden = network.layers[network.layers.size() - 2];
  for (int unit = 0; unit < 2; ++unit) {
    hidden.bias[static_cast<std::size_t>(unit)] = 1e6F;
    last.weight[static_cast<std::size_t>(output * last.inputs + unit)] = unit == 0 ? kHuge : -kHuge;
  }
}

TEST(OverflowingModels, ADeviceWithoutACostMakesThePlacementInfinitelyCostly) {
  const float zero[3] = {0.0F, 0.0F, 0.0F};
  for (const float wrong : {kNan, kInfinite, -kInfinite, 1e30F, -1e30F}) {
    for (int at = 0; at < 3; ++at) {
      float compute_ms[3] = {1.0F, 2.0F, 3.0F};
      EXPECT_EQ(slowest_device_ms(compute_ms, zero, zero, 3), 3.0);
      compute_ms[at] = wrong;
      EXPECT_EQ(slowest_device_ms(compute_ms, zero, zero, 3), kInfinite) << wrong << " at " << at;
    }
  }
}

TEST(OverflowingModels, StartOffsetsThatAreNoNumbersCountAsNone) {
  const float dim_sums[3] = {64.0F, 64.0F, 64.0F};
  const float offsets_ms[3] = {kNan, 1.5F, kNan};
  const SharedCommFeatures shared =
      shared_comm_features(dim_sums, offsets_ms, 3, log2_of_devices(3));
  EXPECT_EQ(shared[3], 0.5F);  // Their mean.
}

TEST(OverflowingModels, OfCommunicationAreNamed) {
  const Task task = golden_task("2gpu_dim64", 0);
  for (const bool reuse_work : {true, false}) {
    for (int device = 0; device < 2; ++device) {
      CostModels models = golden_models();
      overflow_output(forward_network(models, 2), device);
      const Planner forward(models, {.search = {}, .reuse_work = reuse_work});
      EXPECT_THAT(message_of([&] { (void)forward.plan(task); }),
                  AllOf(HasSubstr("forward communication model"),
                        HasSubstr("device " + std::to_string(device)), HasSubstr("train")));
      models = golden_models();
      overflow_output(backward_network(models, 2), device);
      const Planner backward(models, {.search = {}, .reuse_work = reuse_work});
      EXPECT_THAT(message_of([&] { (void)backward.plan(task); }),
                  HasSubstr("backward communication model"));
    }
  }
}

TEST(OverflowingModels, OfComputationAreNamedWithTheTable) {
  CostModels models = golden_models();
  for (float& weight : models.compute.head.layers.back().weight) weight = kHuge;
  for (float& weight : models.compute.head.layers.front().weight) weight = std::abs(weight);
  // The search looks at the smaller table first, which is not the first one listed.
  Task task = golden_task("2gpu_dim64", 0);
  task.tables.resize(2);
  task.tables[0].rows = 2000;
  task.tables[0].dim = 128;
  task.tables[1].rows = 1000;
  task.tables[1].dim = 64;
  for (Table& table : task.tables) table.rules.no_split = true;  // The dim says which table it is.
  for (const Algorithm algorithm : {Algorithm::kNeuroshard, Algorithm::kPublished}) {
    const Planner planner(models, {.algorithm = algorithm, .search = {}});
    const std::string message = message_of([&] { (void)planner.plan(task); });
    EXPECT_THAT(message, AllOf(HasSubstr("compute model predicts"), HasSubstr("train")));
    const bool first = message.find("at dim 128") != std::string::npos;
    EXPECT_THAT(message, StartsWith(first ? "table 0: " : "table 1: "));
  }
}

TEST(OverflowingModels, SimulationsOfThemFail) {
  const Task task = golden_task("2gpu_dim64", 0);
  const Planner sound(golden_models());
  const PlanResult result = sound.plan(task);
  CostModels models = golden_models();
  overflow_output(forward_network(models, 2), 1);
  EXPECT_THAT(message_of([&] { (void)Planner(models).simulate(task, *result.plan); }),
              AllOf(HasSubstr("forward communication model predicts"), HasSubstr("device 1")));
}

TEST(OverflowingModels, NegativeTimesAreSaidInTheResult) {
  const Task task = golden_task("2gpu_dim64", 0);
  EXPECT_THAT(Planner(golden_models()).plan(task).cost.warning, IsEmpty());
  CostModels models = golden_models();
  models.compute.head.layers.back().bias[0] -= 1000.0F;
  const Planner planner(models);
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_THAT(result.cost.warning, AllOf(HasSubstr("negative"), HasSubstr("device")));
  EXPECT_EQ(planner.simulate(task, *result.plan).warning, result.cost.warning);
}

}  // namespace
}  // namespace neuroshard
