// Plans with tables on every device: what they cost, take, and may not be.
#include "core/plans/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/placement/cpu_backend.h"
#include "message_of.h"
#include "neuroshard/explanation.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::random_models;

Task three_tables() {
  Task task{.devices = 4, .memory_bytes = 100'000};
  for (const int rows : {1000, 60, 200}) {
    Table table{.rows = rows, .dim = 16, .pooling_factor = 3.0};
    table.access_histogram[1] = 1.0;
    task.tables.push_back(table);
  }
  return task;
}

/// Table 1 is replicated.
Plan replicated_plan() {
  return {.slices = {{0, 0, 8, 0, 1000}, {0, 8, 8, 0, 1000}, {2, 0, 16, 0, 200}},
          .shards = {{0}, {1}, {2}, {}},
          .replicas = {1}};
}

/// replicated_plan() without its replica.
Plan plan_of_others() {
  Plan plan = replicated_plan();
  plan.replicas.clear();
  plan.slices.back().table = 1;
  return plan;
}

TEST(Replicas, CostAnOperatorOnAPartOfTheBatchAndAnAllReduceOnEveryDevice) {
  const auto backend = make_cpu_backend(random_models(1, {.any_batch = true}));
  const Task task = three_tables();
  Task others = task;
  others.tables.erase(others.tables.begin() + 1);
  const PlanCost sharded = simulate(*backend, others, plan_of_others());
  const PlanCost cost = simulate(*backend, task, replicated_plan());

  const OperatorFeatures part(kOperatorFeatures, 65536.0 / 4);
  std::vector<float> features;
  part.append(task.tables[1], 16, features);
  std::vector<float> embedding(static_cast<std::size_t>(backend->embedding_width()));
  backend->embed_pieces(features, embedding);
  float operator_ms = 0.0F;
  backend->score_shards(embedding,
                        {std::vector<std::uint32_t>{0, 1}, std::vector<std::uint32_t>{0}},
                        {&operator_ms, 1});
  const double all_reduce_ms = backend->all_reduce()->cost_ms(4, 60 * 16 * 4);
  double slowest = -1e9;
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(cost.devices[d].replicas_ms, static_cast<double>(operator_ms));
    EXPECT_EQ(cost.devices[d].all_reduce_ms, all_reduce_ms);
    EXPECT_DOUBLE_EQ(cost.devices[d].compute_ms,
                     sharded.devices[d].compute_ms + static_cast<double>(operator_ms));
    EXPECT_EQ(cost.devices[d].backward_ms, sharded.devices[d].backward_ms);
    EXPECT_EQ(cost.devices[d].forward_ms, sharded.devices[d].forward_ms);
    EXPECT_EQ(cost.devices[d].ids_ms, sharded.devices[d].ids_ms);
    EXPECT_EQ(cost.devices[d].dim_sum, sharded.devices[d].dim_sum);
    // Weights and gradients.
    EXPECT_EQ(cost.devices[d].memory_bytes, sharded.devices[d].memory_bytes + 2 * 60 * 16 * 4);
    slowest = std::max(slowest, cost.devices[d].total_ms());
  }
  EXPECT_EQ(cost.cost_ms, slowest);
  EXPECT_TRUE(cost.fits_memory);
  EXPECT_NEAR(
      explain(*backend, task, replicated_plan()).slices[2][0].without.plan_ms,
      [&] {
        Plan without = replicated_plan();
        without.slices.pop_back();
        without.shards[2].clear();
        without.replicas = {1};
        Task two = task;
        two.tables.pop_back();
        return simulate(*backend, two, without).cost_ms;
      }(),
      1e-4);
}

TEST(Replicas, MayGatherTheRowsThatAreTouched) {
  const auto backend = make_cpu_backend(random_models(1, {.any_batch = true}));
  Task task = three_tables();
  Plan plan = replicated_plan();
  plan.slices.pop_back();
  plan.shards[2].clear();
  plan.replicas = {1, 2};
  const PlanCost dense = simulate(*backend, task, plan);
  task.tables[2].replica_gradients = ReplicaGradients::kTouched;
  const PlanCost touched = simulate(*backend, task, plan);
  const std::array<const Table*, 1> gathered = {&task.tables[2]};
  const CollectiveModel& model = *backend->all_reduce();
  const double gradients_ms = model.cost_ms(4, 60 * 16 * 4) +
                              replica_update_ms(model, 4, TouchedGradients(task).update(gathered));
  const std::int64_t more_bytes =
      static_cast<std::int64_t>(std::ceil(TouchedGradients(task).gathered_bytes(task.tables[2]))) -
      200 * 16 * 4;
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(touched.devices[d].all_reduce_ms, gradients_ms);
    EXPECT_EQ(touched.devices[d].compute_ms, dense.devices[d].compute_ms);
    EXPECT_EQ(touched.devices[d].memory_bytes, dense.devices[d].memory_bytes + more_bytes);
  }
  // Sums are the same in any order.
  std::swap(task.tables[1], task.tables[2]);
  EXPECT_EQ(simulate(*backend, task, plan).cost_ms, touched.cost_ms);
}

TEST(Replicas, AloneNeedNoAllToAll) {
  const auto backend = make_cpu_backend(random_models(1, {.any_batch = true}));
  const Plan plan{.slices = {}, .shards = {{}, {}, {}, {}}, .replicas = {0, 1, 2}};
  const PlanCost cost = simulate(*backend, three_tables(), plan);
  for (const DeviceCost& device : cost.devices) {
    EXPECT_EQ(device.forward_ms + device.backward_ms + device.ids_ms, 0.0);
    EXPECT_EQ(device.compute_ms, device.replicas_ms);
    EXPECT_EQ(cost.cost_ms, device.replicas_ms + device.all_reduce_ms);
  }
}

TEST(Replicas, OfNarrowerWeightsAddUpNarrowerGradients) {
  const auto backend = make_cpu_backend(random_models(1, {.any_batch = true}));
  Task task = three_tables();
  const auto cost_of = [&](WeightType type) {
    for (Table& table : task.tables) table.memory.weight_type = type;
    return cost_of_replicas(*backend, task, task, replicated_plan());
  };
  const double bytes = replica_traffic(task, replicated_plan()).dense_bytes;
  const ReplicasCost fp32 = cost_of(WeightType::kFp32);
  EXPECT_EQ(fp32.all_reduce_ms, backend->all_reduce()->cost_ms(4, bytes));
  const ReplicasCost fp16 = cost_of(WeightType::kFp16);
  EXPECT_EQ(fp16.all_reduce_ms, backend->all_reduce()->cost_ms(4, bytes / 2));
  EXPECT_NE(fp16.operator_ms, fp32.operator_ms);
}

TEST(Replicas, TakeMemoryOnEveryDevice) {
  const auto backend = make_cpu_backend(random_models(1, {.any_batch = true}));
  Task task = three_tables();
  for (Table& table : task.tables) table.memory = {WeightType::kFp16, Optimizer::kAdagrad, 1000};
  // Weights, gradients and state; ids and outputs of 250 samples.
  const SliceMemory memory = replica_memory(task, 1);
  EXPECT_EQ(memory.weight_bytes, 60 * 16 * 2);
  EXPECT_EQ(memory.optimizer_bytes, 60 * 16 * 4);
  EXPECT_EQ(memory.buffer_bytes, 60 * 16 * 2 + 250 * 3 * 8 + 250 * 16 * 4);
  const std::int64_t shard = simulate(*backend, task, replicated_plan()).devices[2].memory_bytes;
  EXPECT_EQ(shard, slice_bytes(task, {2, 0, 16, 0, 200}) + memory.total_bytes());
  const std::vector<DeviceCost> devices = simulate(*backend, task, replicated_plan()).devices;
  task.memory_bytes = std::ranges::max(devices, {}, &DeviceCost::memory_bytes).memory_bytes;
  EXPECT_THAT(check_plan(replicated_plan(), task), IsEmpty());
  --task.memory_bytes;
  const auto problems = check_plan(replicated_plan(), task);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.front().kind, PlanProblem::Kind::kMemory);
  EXPECT_FALSE(simulate(*backend, task, replicated_plan()).fits_memory);
}

TEST(Replicas, AreOfTablesOnceInOrderWithoutSlices) {
  const Task task = three_tables();
  const auto problems = [&](std::vector<int> replicas) {
    Plan plan = replicated_plan();
    plan.replicas = std::move(replicas);
    std::vector<std::string> texts;
    for (const PlanProblem& problem : check_plan(plan, task)) texts.push_back(problem.message());
    return texts;
  };
  EXPECT_THAT(problems({1}), IsEmpty());
  EXPECT_THAT(problems({}), ElementsAre(HasSubstr("of table 1 are in no slice")));
  EXPECT_THAT(problems({1, 1}),
              ElementsAre("lists table 1 behind table 1 as replicated; list each replicated table "
                          "once, in ascending order"));
  EXPECT_THAT(problems({1, 7}), ElementsAre("replicates table 7; the task has tables 0 to 2"));
  EXPECT_THAT(problems({1, 2}), ElementsAre("slice 2 is of table 2, which is replicated; leave out "
                                            "the slices of the table, or do not replicate it"));
}

TEST(Replicas, KeepToRulesOnDevices) {
  Task task = three_tables();
  task.tables[1].rules.not_devices = {2};
  const auto problems = check_plan(replicated_plan(), task);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.front().kind, PlanProblem::Kind::kRule);
  EXPECT_THAT(problems.front().message(), HasSubstr("is replicated, and so on device 2"));
}

TEST(Replicas, HaveNoCostWithModelsThatDoNotKnowThem) {
  const auto backend = make_cpu_backend(random_models(1));
  EXPECT_THAT(message_of([&] { (void)simulate(*backend, three_tables(), replicated_plan()); }),
              HasSubstr("plans with replicated tables have no cost; use weights that do"));
}

}  // namespace
}  // namespace neuroshard
