// Tasks that say what runs beside what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/task_texts.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;
using testing::random_models;
using ::testing::StartsWith;
using testing::task_error;
using testing::task_text_with;

/// Tables of few columns and many lookups, whose ids take long, or of many and few.
Task task_of_lookups(std::uint64_t seed, bool many) {
  Random random(seed, 61);
  Task task{.devices = 16, .memory_bytes = std::int64_t{1} << 36};
  const std::size_t count = 12 + random.below(20);
  for (std::size_t t = 0; t < count; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 10'000 + static_cast<std::int64_t>(random.below(20'000'000));
    table.dim = static_cast<int>((many ? 8U : 64U) << random.below(2));
    table.pooling_factor = many ? 20.0 + 100.0 * random.uniform() : 1.0 + 10.0 * random.uniform();
    table.access_histogram[random.below(6)] = 1.0;
  }
  return task;
}

TEST(Overlap, IsReadFromTaskFiles) {
  const std::string devices = R"("devices": 8, "memory_gb": 1, )";
  const auto file_with = [&](const std::string& overlap) {
    return parse_task(task_text_with(devices + overlap), "a.json");
  };
  EXPECT_EQ(task_of(file_with("")).overlap, Overlap{});
  const TaskFile file = file_with(
      R"("overlap": {"ids": true, "dense_ms": 3.0, "dense_beside_outputs_ms": 0.8,
                     "dense_beside_gradients_ms": 1.1, "host_ms": 7.0}, )");
  const Overlap expected{.ids = true,
                         .dense_ms = 3.0,
                         .dense_beside_outputs_ms = 0.8,
                         .dense_beside_gradients_ms = 1.1,
                         .host_ms = 7.0};
  EXPECT_EQ(task_of(file).overlap, expected);
  EXPECT_EQ(task_of(file, {.devices = 2}).overlap, expected);
  const auto error_of = [&](const std::string& overlap) {
    return task_error(task_text_with(devices + R"("overlap": )" + overlap + ", "));
  };
  EXPECT_EQ(error_of(R"({"ids": 1})"), "a.json: overlap: ids: give true or false");
  for (const char* field :
       {"dense_ms", "dense_beside_outputs_ms", "dense_beside_gradients_ms", "host_ms"}) {
    for (const char* wrong : {"-0.5", "1e7", "\"long\"", "true"}) {
      std::string stated = "{\"";
      stated.append(field).append("\": ").append(wrong).append("}");
      EXPECT_THAT(error_of(stated), StartsWith(std::string("a.json: overlap: ") + field));
    }
  }
  EXPECT_THAT(error_of(R"({"dence_ms": 1})"), HasSubstr("did you mean 'dense_ms'"));
  EXPECT_THAT(error_of("true"), StartsWith("a.json: overlap"));
}

TEST(Overlap, PlansFollowHiddenIds) {
  const Planner planner(builtin_weights(), {.threads = 1});
  for (const bool many : {false, true}) {
    double unaware_ms = 0.0;
    double aware_ms = 0.0;
    for (const std::uint64_t seed : testing::Seeds(drawn_tasks(20))) {
      Task task = task_of_lookups(seed, many);
      const PlanResult without = planner.plan(task);
      task.overlap.ids = true;
      const PlanResult with = planner.plan(task);
      ASSERT_TRUE(with.plan && without.plan);
      EXPECT_EQ(planner.simulate(task, *with.plan).cost_ms, with.cost.cost_ms);
      const double of_unaware_ms = planner.simulate(task, *without.plan).cost_ms;
      EXPECT_LT(of_unaware_ms, without.cost.cost_ms);
      if (seed < 4) {
        EXPECT_LE(with.cost.cost_ms, 1.02 * of_unaware_ms);
      }
      unaware_ms += of_unaware_ms;
      aware_ms += with.cost.cost_ms;
    }
    ::testing::Test::RecordProperty(many ? "gain_where_many" : "gain_where_few",
                                    std::to_string(aware_ms / unaware_ms));
    // Few ids hide little: it takes all tasks to see a gain.
    if (!many && testing::kFewTasks) continue;
    EXPECT_LT(aware_ms, unaware_ms);
  }
}

TEST(Overlap, DensePartsAreAddedAsFarAsExchangesDoNotHideThem) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  Task task = task_of_lookups(3, false);
  const PlanResult sum = planner.plan(task);
  ASSERT_TRUE(sum.plan);
  task.overlap = {
      .dense_ms = 2.0, .dense_beside_outputs_ms = 1e-3, .dense_beside_gradients_ms = 9.0};
  const PlanCost cost = planner.simulate(task, *sum.plan);
  double gradients_ms = cost.devices[0].backward_ms;
  for (const DeviceCost& device : cost.devices) {
    gradients_ms = std::min(gradients_ms, device.backward_ms);
  }
  EXPECT_NEAR(cost.cost_ms, sum.cost.cost_ms + 2.0 + 9.0 - gradients_ms, 1e-9);
  const PlanResult planned = planner.plan(task);
  EXPECT_EQ(planner.simulate(task, *planned.plan).cost_ms, planned.cost.cost_ms);
  EXPECT_LE(planned.cost.cost_ms, 1.01 * cost.cost_ms);
}

// All plans cost the same where the host decides, and the search looks for the least all the same.
TEST(Overlap, TheHostChangesNoPlan) {
  const PlanRequest request{.alternatives = 5};
  for (const Algorithm algorithm :
       {Algorithm::kNeuroshard, Algorithm::kPublished, Algorithm::kUniform}) {
    const Planner planner(builtin_weights(), {.algorithm = algorithm, .threads = 1});
    Task task = task_of_lookups(4, true);
    const PlanRequest& asked = algorithm == Algorithm::kNeuroshard ? request : PlanRequest{};
    const PlanResult without = planner.plan(task, asked);
    ASSERT_TRUE(without.plan);
    task.overlap.host_ms = 2.0 * without.cost.cost_ms;
    const PlanResult with = planner.plan(task, asked);
    EXPECT_EQ(with.plan, without.plan);
    EXPECT_EQ(with.cost.cost_ms, task.overlap.host_ms);
    EXPECT_EQ(with.cost.slowest_ms(), without.cost.cost_ms);
    EXPECT_TRUE(with.cost.set_by_host());
    ASSERT_EQ(with.alternatives.size(), without.alternatives.size());
    for (std::size_t i = 0; i < with.alternatives.size(); ++i) {
      EXPECT_EQ(with.alternatives[i].plan, without.alternatives[i].plan);
      EXPECT_EQ(with.alternatives[i].cost.cost_ms, task.overlap.host_ms);
    }
    task.overlap.host_ms = 0.5 * without.cost.cost_ms;
    EXPECT_EQ(planner.simulate(task, *without.plan).cost_ms, without.cost.cost_ms);
  }
}

TEST(Overlap, IsThatOfEachTaskOfABatchAndOfReplanning) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const Task sum = task_of_lookups(5, true);
  Task beside = sum;
  beside.overlap = {.ids = true, .dense_ms = 0.5};
  const std::vector<Task> both{beside, sum};
  const std::vector<PlanOutcome> batch = planner.plan_batch(both);
  const PlanResult with = planner.plan(beside);
  const PlanResult without = planner.plan(sum);
  EXPECT_EQ(batch[0]->plan, with.plan);
  EXPECT_EQ(batch[0]->cost.cost_ms, with.cost.cost_ms);
  EXPECT_EQ(batch[1]->plan, without.plan);
  EXPECT_NE(planner.fingerprint(beside), planner.fingerprint(sum));
  const ReplanResult replanned = planner.replan(beside, {sum, *without.plan}, {});
  ASSERT_TRUE(replanned.result.plan);
  EXPECT_EQ(replanned.running_cost.cost_ms, without.cost.cost_ms);
  EXPECT_EQ(planner.simulate(beside, *replanned.result.plan).cost_ms,
            replanned.result.cost.cost_ms);
  EXPECT_LE(replanned.result.cost.cost_ms, planner.simulate(beside, *without.plan).cost_ms);
  Task linked = beside;
  linked.links = NodeLinks{.node_gb_s = 50.0};
  const PlanResult on_nodes = planner.plan(linked);
  ASSERT_TRUE(on_nodes.plan);
  EXPECT_EQ(planner.simulate(linked, *on_nodes.plan).cost_ms, on_nodes.cost.cost_ms);
  EXPECT_GT(on_nodes.cost.devices[0].hidden_ms, 0.0);
}

// Published models price no ids, and their search knows nothing of what runs beside it.
TEST(Overlap, PublishedPlansStayAndTheirCostsHeedIt) {
  const Planner planner(random_models(2, {.devices = {4}}),
                        {.algorithm = Algorithm::kPublished, .threads = 1});
  Task task = task_of_lookups(1, false);
  task.devices = 4;
  const PlanResult without = planner.plan(task);
  ASSERT_TRUE(without.plan);
  task.overlap = {.ids = true, .dense_ms = 2.5};
  const PlanResult with = planner.plan(task);
  EXPECT_EQ(with.plan, without.plan);
  EXPECT_NEAR(with.cost.cost_ms, without.cost.cost_ms + 2.5, 1e-9);
  EXPECT_EQ(with.cost.devices[0].hidden_ms, 0.0);
}

}  // namespace
}  // namespace neuroshard
