// Iterations whose phases run beside each other, by their plain sums.
#include "core/plans/iteration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/random.h"
#include "neuroshard/backend.h"
#include "neuroshard/explanation.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

TEST(Iteration, IsASumIfNothingRunsBesideAnything) {
  const Iteration sum = iteration_of(
      {},
      {.own_ms = 3.1, .ids_ms = 0.7, .all_reduce_ms = 0.3, .outputs_ms = 1.0, .gradients_ms = 1.0});
  EXPECT_EQ(sum.ms, 3.1 + 0.7 + 0.3);
  EXPECT_EQ(sum.dense_ms, 0.0);
  EXPECT_EQ(sum.hidden_ms, 0.0);
}

TEST(Iteration, TakesTheLongerOfWhatRunsBesideEachOther) {
  const IterationPhases phases{
      .own_ms = 3.0, .ids_ms = 2.0, .all_reduce_ms = 0.5, .outputs_ms = 0.75, .gradients_ms = 1.25};
  // The forward all-to-all takes 1 ms instead of 0.75, the backward one hides its part.
  const Overlap dense{
      .dense_ms = 0.125, .dense_beside_outputs_ms = 1.0, .dense_beside_gradients_ms = 1.0};
  EXPECT_EQ(iteration_of(dense, phases).dense_ms, 0.375);
  EXPECT_EQ(iteration_of(dense, phases).ms, 5.875);
  Overlap all = dense;
  all.ids = true;
  EXPECT_EQ(iteration_of(all, phases).hidden_ms, 2.0);
  EXPECT_EQ(iteration_of(all, phases).ms, 3.875);
  // Ids that take longer than all else decide.
  IterationPhases many_ids = phases;
  many_ids.ids_ms = 10.0;
  EXPECT_EQ(iteration_of(all, many_ids).hidden_ms, 3.875);
  EXPECT_EQ(iteration_of(all, many_ids).ms, 10.0);
  // Where nothing is exchanged, nothing is hidden; nor behind what models predict below 0.
  EXPECT_EQ(iteration_of(dense, {.own_ms = 1.0}).ms, 3.125);
  EXPECT_EQ(iteration_of(dense, {.outputs_ms = -5.0, .gradients_ms = -1.0}).ms, 2.125);
}

Overlap random_overlap(Random& random) {
  const auto ms = [&] { return random.below(3) == 0 ? 0.0 : 4.0 * random.uniform(); };
  return {.ids = random.below(2) == 0,
          .dense_ms = ms(),
          .dense_beside_outputs_ms = ms(),
          .dense_beside_gradients_ms = ms(),
          .host_ms = random.below(2) == 0 ? 0.0 : 20.0 * random.uniform()};
}

/// Whole tables anywhere, each tenth a replica.
Plan random_plan(const Task& task, Random& random) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (const TableSlice& slice : whole_tables(task)) {
    if (random.below(10) == 0) {
      plan.replicas.push_back(slice.table);
      continue;
    }
    plan.shards[random.below(plan.shards.size())].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  }
  return plan;
}

TEST(Iteration, OfPlansIsTheirSumLessWhatIsHidden) {
  const CostModels models = testing::random_models(7, {.any_batch = true});
  int hidden = 0;
  int deciding_ids = 0;
  int replicas_alone = 0;
  int hosts = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(200))) {
    Task task = testing::random_task_of_all_kinds(seed);
    Random random(seed, 51);
    if (seed % 4 == 0) {  // So many lookups that their ids take longest.
      for (Table& table : task.tables) table.pooling_factor *= 1000.0;
    }
    const Plan plan = random_plan(task, random);
    const auto backend = make_cpu_backend(models_for(models, comm_setting(task)));
    const PlanCost sum = simulate(*backend, task, plan);
    EXPECT_EQ(sum.cost_ms, sum.slowest_ms());
    EXPECT_FALSE(sum.set_by_host());
    const Overlap overlap = task.overlap = random_overlap(random);
    const PlanCost cost = simulate(*backend, task, plan);
    double outputs_ms = INFINITY;
    double gradients_ms = INFINITY;
    for (const DeviceCost& device : sum.devices) {
      outputs_ms = std::min(outputs_ms, device.forward_ms);
      gradients_ms = std::min(gradients_ms, device.backward_ms);
    }
    outputs_ms = std::max(0.0, outputs_ms);
    gradients_ms = std::max(0.0, gradients_ms);
    const double chain_ms =
        overlap.dense_ms + std::max(outputs_ms, overlap.dense_beside_outputs_ms) - outputs_ms +
        std::max(gradients_ms, overlap.dense_beside_gradients_ms) - gradients_ms;
    double slowest_ms = -INFINITY;
    for (std::size_t d = 0; d < sum.devices.size(); ++d) {
      const DeviceCost& device = cost.devices[d];
      const double ids_ms = sum.devices[d].ids_ms;
      const double rest_ms = sum.devices[d].total_ms() - ids_ms + chain_ms;
      const double expected = overlap.ids ? std::max(rest_ms, ids_ms) : rest_ms + ids_ms;
      EXPECT_NEAR(device.total_ms(), expected, 1e-12 * (std::abs(rest_ms) + std::abs(ids_ms)));
      EXPECT_EQ(device.compute_ms, sum.devices[d].compute_ms);
      EXPECT_EQ(device.ids_ms, ids_ms);
      slowest_ms = std::max(slowest_ms, device.total_ms());
      hidden += device.hidden_ms > 0.0 ? 1 : 0;
      deciding_ids += overlap.ids && ids_ms > rest_ms ? 1 : 0;
    }
    EXPECT_EQ(cost.slowest_ms(), slowest_ms);
    const bool by_host = overlap.host_ms > std::max(0.0, slowest_ms);
    EXPECT_EQ(cost.cost_ms, by_host ? overlap.host_ms : slowest_ms);
    EXPECT_EQ(cost.set_by_host(), by_host);
    hosts += cost.set_by_host() ? 1 : 0;
    replicas_alone += plan.slices.empty() ? 1 : 0;
    EXPECT_EQ(explain(*backend, task, plan).cost.cost_ms, cost.cost_ms);
  }
  if (NEUROSHARD_SANITIZED) return;  // Too few tasks.
  EXPECT_GT(hidden, 0);
  EXPECT_GT(deciding_ids, 0);
  EXPECT_GT(replicas_alone, 0);
  EXPECT_GT(hosts, 0);
}

}  // namespace
}  // namespace neuroshard
