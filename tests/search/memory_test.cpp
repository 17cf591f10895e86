// Memory that is more than fp32 weights, from the task to the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/what_if.h"
#include "random_policies.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::random_models;
using testing::random_task;

constexpr std::int64_t kMillion = 1'000'000;

// 4 tables of 64 MB on 2 devices.
Task four_tables(std::int64_t memory_bytes, const TableMemory& memory) {
  Table table{.name = "", .rows = kMillion, .dim = 16, .pooling_factor = 2.0};
  table.access_histogram[0] = 1.0;
  table.memory = memory;
  return {.tables = std::vector<Table>(4, table), .devices = 2, .memory_bytes = memory_bytes};
}

Planner planner_of(Algorithm algorithm, bool equal_widths = false) {
  return Planner(random_models(3), {.algorithm = algorithm,
                                    .effort = Effort::kFast,
                                    .equal_widths = equal_widths,
                                    .threads = 1,
                                    .policy = testing::random_policy(algorithm)});
}

TEST(Memory, ATaskThatFitsDoesNotFitWithAdam) {
  for (const Algorithm algorithm : all_algorithms()) {
    SCOPED_TRACE(name_of(algorithm));
    const Planner planner = planner_of(algorithm);
    EXPECT_TRUE(planner.plan(four_tables(200 * kMillion, {})).plan);
    EXPECT_TRUE(
        planner.plan(four_tables(200 * kMillion, {.optimizer = Optimizer::kRowwiseAdagrad})).plan);
    const PlanResult with_adam =
        planner.plan(four_tables(200 * kMillion, {.optimizer = Optimizer::kAdam}));
    ASSERT_TRUE(with_adam.infeasible);
    EXPECT_EQ(with_adam.infeasible->kind, Infeasibility::Kind::kTotalMemory);
    EXPECT_EQ(with_adam.infeasible->needed_bytes, 3 * 4 * 64 * kMillion);
    EXPECT_TRUE(planner.plan(four_tables(600 * kMillion, {.optimizer = Optimizer::kAdam})).plan);
  }
}

TEST(Memory, WhatIsReservedIsNotUsed) {
  const Planner planner = planner_of(Algorithm::kNeuroshard);
  Task task = four_tables(200 * kMillion, {});
  task.reserved = {.bytes = 20 * kMillion, .share = 0.25};
  ASSERT_EQ(room_bytes(task, 0), 130 * kMillion);
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  for (const DeviceCost& device : result.cost.devices) {
    EXPECT_EQ(device.memory_bytes, 128 * kMillion);
    EXPECT_EQ(device.reserved_bytes, 70 * kMillion);
    EXPECT_EQ(device.free_bytes, 2 * kMillion);
  }
  task.reserved.bytes = 24 * kMillion;
  const PlanResult none = planner.plan(task);
  ASSERT_TRUE(none.infeasible);
  EXPECT_EQ(none.infeasible->available_bytes, 2 * 126 * kMillion);
  EXPECT_THAT(none.infeasible->message,
              HasSubstr("2 devices of 191 MiB, 70.6 MiB of it reserved, hold 240 MiB"));
  // The plan is refused if it is given.
  EXPECT_FALSE(planner.simulate(task, *result.plan).fits_memory);
  EXPECT_LT(planner.simulate(task, *result.plan).devices[0].free_bytes, 0);
  const std::vector<PlanProblem> problems = check_plan(*result.plan, task);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].what, HasSubstr("more than it has room for"));
}

TEST(Memory, WhatIfsReserveTheSameShare) {
  const Planner planner = planner_of(Algorithm::kNeuroshard);
  Task task = four_tables(1, {});
  task.reserved.share = 0.5;
  const std::vector<TaskVariant> variants = {{2, 240 * kMillion}, {2, 260 * kMillion}};
  const std::vector<PlanOutcome> outcomes = plan_variants(planner, task, variants);
  EXPECT_FALSE(outcomes[0]->plan);
  ASSERT_TRUE(outcomes[1]->plan);
  EXPECT_EQ(outcomes[1]->cost.devices[0].reserved_bytes, 130 * kMillion);
}

// Everything that plans: halves of slices take more than half where they have state of their own.
TEST(Memory, PlansOfEveryAlgorithmKeepItAndSayWhatItIsFor) {
  int plans = 0;
  for (const Algorithm algorithm : all_algorithms()) {
    for (const bool equal_widths : {false, true}) {
      if (equal_widths && algorithm != Algorithm::kNeuroshard) continue;
      const Planner planner = planner_of(algorithm, equal_widths);
      for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(std::string(name_of(algorithm)) + " " + std::to_string(seed));
        Task task = random_task(seed);
        for (std::size_t t = 0; t < task.tables.size(); ++t) {
          task.tables[t].memory = {
              .weight_type = all_weight_types()[(seed + t) % all_weight_types().size()],
              .optimizer = all_optimizers()[(seed + t / 3) % all_optimizers().size()],
              .batch_size = seed % 3 == 0 ? 0 : 500};
        }
        std::int64_t largest = 0;
        for (const Table& table : task.tables) largest = std::max(largest, table.size_bytes());
        task.memory_bytes =
            std::max(largest, total_bytes(task) / task.devices) * (10 + seed % 5) / 10;
        task.reserved = {.bytes = 0, .share = seed % 2 == 0 ? 0.0 : 0.1};
        const PlanResult result = planner.plan(task);
        if (!result.plan) continue;
        ++plans;
        EXPECT_TRUE(check_plan(*result.plan, task).empty());
        const auto by_device = slices_by_device(*result.plan);
        for (std::size_t d = 0; d < by_device.size(); ++d) {
          SliceMemory memory;
          for (const TableSlice& slice : by_device[d]) {
            memory += slice_memory(task.tables[static_cast<std::size_t>(slice.table)], slice.dim);
          }
          const DeviceCost& device = result.cost.devices[d];
          EXPECT_EQ(device.memory, memory);
          EXPECT_EQ(device.memory_bytes, memory.total_bytes());
          EXPECT_EQ(device.memory_bytes + device.reserved_bytes + device.free_bytes,
                    task.memory_bytes);
          EXPECT_GE(device.free_bytes, 0);
        }
      }
    }
  }
  EXPECT_GT(plans, 150);
}

// Halves of a table of int8 weights and row-wise state take 12 + 2 bytes a row each, the table
// 12 + 4: finest slices need more than all memory, coarser ones do not.
TEST(Memory, PackingIsNotCalledImpossibleBecauseTheFinestSlicesDoNotFit) {
  Task task =
      four_tables(0, {.weight_type = WeightType::kInt8, .optimizer = Optimizer::kRowwiseAdagrad});
  ASSERT_EQ(task.tables[0].size_bytes(), 28 * kMillion);
  ASSERT_EQ(slice_bytes(task.tables[0], 4), 16 * kMillion);
  task.memory_bytes = 56 * kMillion;
  const PlanResult result = planner_of(Algorithm::kNeuroshard).plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->slices.size(), task.tables.size());
  // Five tables on two devices: one must be cut, and both parts have 12 bytes a row of their own.
  task.tables.push_back(task.tables[0]);
  task.memory_bytes = 76 * kMillion;  // 2 x 28 + 12 + 8.
  const PlanResult cut = planner_of(Algorithm::kNeuroshard).plan(task);
  ASSERT_TRUE(cut.plan);
  EXPECT_EQ(cut.plan->slices.size(), task.tables.size() + 1);
  task.memory_bytes -= 1;
  const PlanResult none = planner_of(Algorithm::kNeuroshard).plan(task);
  ASSERT_TRUE(none.infeasible);
  EXPECT_EQ(none.infeasible->kind, Infeasibility::Kind::kPacking);
}

TEST(Memory, MovesTakeStateAlongButNoBuffers) {
  const Planner planner(random_models(3), {.threads = 1});
  const TableMemory memory{.weight_type = WeightType::kFp16,
                           .optimizer = Optimizer::kPartialRowwiseAdam,
                           .batch_size = 1000};
  Task task = four_tables(std::int64_t{1} << 40, memory);
  for (std::size_t t = 0; t < 4; ++t) task.tables[t].name = std::string(1, "abcd"[t]);
  const RunningPlan running{.task = task,
                            .plan = {.slices = whole_tables(task), .shards = {{0, 1}, {2, 3}}}};
  task.tables.push_back(task.tables[0]);
  task.tables.back().name = "new";
  task.tables[1].rows += kMillion / 2;
  const ReplanResult result = planner.replan(task, running);
  ASSERT_TRUE(result.result.plan);
  // A row: 16 x (2 + 4) bytes, and 4 of the row's own state.
  EXPECT_EQ(result.must_move_bytes, 100 * kMillion + 50 * kMillion);
  EXPECT_GE(result.moved_bytes, result.must_move_bytes);
  std::int64_t moved = 0;
  for (const TableMove& move : result.moves) moved += move.bytes;
  EXPECT_EQ(moved, result.moved_bytes);
}

// The bytes that must give way are more than half of a slice, since both halves keep state of their
// own.
TEST(Memory, ReplanningMakesRoomWhereHalvesTakeMoreThanHalf) {
  const Planner planner(random_models(3), {.effort = Effort::kFast, .threads = 1});
  const TableMemory memory{.weight_type = WeightType::kInt8,
                           .optimizer = Optimizer::kPartialRowwiseAdam};
  for (int excess = 5; excess < 90; excess += 10) {
    SCOPED_TRACE(excess);
    Task task = four_tables(std::int64_t{1} << 40, memory);
    for (std::size_t t = 0; t < 4; ++t) task.tables[t].name = std::string(1, "abcd"[t]);
    const RunningPlan running{.task = task,
                              .plan = {.slices = whole_tables(task), .shards = {{0, 1, 2}, {3}}}};
    // Halves of 92 bytes a row take 52 each, so that taking one away frees 40.
    task.memory_bytes = (3 * 92 - excess) * kMillion;
    const ReplanResult result = planner.replan(task, running);
    ASSERT_TRUE(result.result.plan);
    EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
    EXPECT_EQ(result.must_move_bytes, 0);
    EXPECT_GE(result.moved_bytes, std::min(excess, 40) * kMillion);
  }
}

TEST(Memory, CostsOfOtherWeightsAreWarnedOf) {
  const Planner planner = planner_of(Algorithm::kNeuroshard);
  const PlanResult plain = planner.plan(four_tables(200 * kMillion, {}));
  const Task halved = four_tables(200 * kMillion, {.weight_type = WeightType::kFp16});
  const PlanResult result = planner.plan(halved);
  ASSERT_TRUE(result.plan && plain.plan);
  EXPECT_EQ(plain.cost.warning.find("fp32"), std::string::npos);
  EXPECT_THAT(result.cost.warning, HasSubstr("table 0 is fp16, and 3 other tables not fp32"));
  EXPECT_EQ(planner.simulate(halved, *result.plan).warning, result.cost.warning);
  EXPECT_EQ(result.cost.cost_ms, plain.cost.cost_ms);
}

}  // namespace
}  // namespace neuroshard
