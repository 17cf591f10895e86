#include "bench/gap/slice_board.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "golden.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard::bench {
namespace {

using testing::repetitions;

constexpr double kAny = std::numeric_limits<double>::infinity();

Task roomy_task(std::uint64_t seed, int devices) {
  Task task = testing::random_task(seed);
  task.devices = devices;
  task.reserved = {};
  // Each slice of 4 columns may have bytes of its own.
  task.memory_bytes = 0;
  for (const Table& table : task.tables) {
    task.memory_bytes += table.dim / kDimMultiple * slice_bytes(table, kDimMultiple);
  }
  return task;
}

Plan everything_on_one_device(const Task& task) {
  Plan plan;
  plan.slices = whole_tables(task);
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    plan.shards.front().push_back(static_cast<int>(t));
  }
  return plan;
}

std::uint32_t draw(std::mt19937_64& random, std::size_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

// Replaces one or two slices by as many elsewhere, one by its halves, or two by their union.
SliceBoard::Change random_change(const SliceBoard& board, std::mt19937_64& random) {
  const auto slices = board.slices();
  SliceBoard::Change change;
  const auto remove = [&](std::uint32_t index) { change.removed[change.removals++] = index; };
  const auto add = [&](const SliceBoard::Slice& slice, std::uint32_t level) {
    change.added[change.additions++] = {
        .table = slice.table, .level = level, .device = draw(random, board.devices())};
  };
  const std::uint32_t index = draw(random, slices.size());
  const SliceBoard::Slice slice = slices[index];
  remove(index);
  const auto alike = board.alike(slice);
  const std::uint32_t other = alike[draw(random, alike.size())];
  if (random() % 2 == 0 && board.can_halve(slice)) {
    add(slice, slice.level + 1);
    add(slice, slice.level + 1);
  } else if (other != index && slice.level > 0) {
    remove(other);
    add(slice, slice.level - 1);
  } else {
    add(slice, slice.level);
    const std::uint32_t second = draw(random, slices.size());
    if (second != index) {
      remove(second);
      add(slices[second], slices[second].level);
    }
  }
  return change;
}

class EveryNetwork : public ::testing::TestWithParam<bool> {
 protected:
  static CostModels models(std::uint64_t seed) {
    testing::ModelShape shape;
    if (GetParam()) shape.devices = {2, 5};
    return testing::random_models(seed, shape);
  }
};

TEST_P(EveryNetwork, CostsWhatSimulateSaysAfterEveryChange) {
  for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    const CostModels cost_models = models(seed);
    const CpuBackend backend(select_cpu_kernels("auto"), cost_models, true);
    const Task task = roomy_task(seed, seed % 2 == 0 ? 5 : 2);
    SliceBoard board(backend, task, everything_on_one_device(task));
    std::mt19937_64 random(seed);
    for (int step = 0; step < 60; ++step) {
      const auto change = random_change(board, random);
      const double before_ms = board.cost_ms();
      ASSERT_TRUE(board.try_change(change, kAny));
      EXPECT_EQ(board.cost_ms(), before_ms);
      const double tried_ms = board.tried_cost_ms();
      // At the limit is within it, and below is not; neither changes anything.
      EXPECT_FALSE(board.try_change(change, std::nextafter(tried_ms, -kAny)));
      ASSERT_TRUE(board.try_change(change, tried_ms));
      if (step % 3 == 0) continue;
      board.make_change(change);
      EXPECT_EQ(board.cost_ms(), tried_ms);
      const PlanCost cost = simulate(backend, task, board.plan());
      ASSERT_EQ(board.cost_ms(), cost.cost_ms);
      for (std::uint32_t d = 0; d < board.devices(); ++d) {
        EXPECT_EQ(board.total_ms(d) + cost.devices[d].ids_ms, cost.devices[d].total_ms());
        EXPECT_EQ(board.dim_sum(d), static_cast<float>(cost.devices[d].dim_sum));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dense" : "Symmetric"; });

TEST(SliceBoard, RefusesWhatExceedsMemory) {
  const CostModels models = testing::random_models(1);
  const CpuBackend backend(select_cpu_kernels("auto"), models, true);
  Table table;
  table.rows = 1000;
  table.dim = 8;
  table.pooling_factor = 1.0;
  const Task task{.tables = {table, table},
                  .devices = 2,
                  .memory_bytes = table.size_bytes() + table.size_bytes() / 2};
  SliceBoard board(backend, task, {.slices = whole_tables(task), .shards = {{0}, {1}}});
  using Slice = SliceBoard::Slice;
  const SliceBoard::Change move{.removed = {1},
                                .added = {Slice{.table = 1, .level = 0, .device = 0}},
                                .removals = 1,
                                .additions = 1};
  EXPECT_FALSE(board.try_change(move, kAny));
  const SliceBoard::Change halve{.removed = {1},
                                 .added = {Slice{.table = 1, .level = 1, .device = 0},
                                           Slice{.table = 1, .level = 1, .device = 1}},
                                 .removals = 1,
                                 .additions = 2};
  EXPECT_TRUE(board.try_change(halve, kAny));
  const SliceBoard::Change swap{.removed = {0, 1},
                                .added = {Slice{.table = 0, .level = 0, .device = 1},
                                          Slice{.table = 1, .level = 0, .device = 0}},
                                .removals = 2,
                                .additions = 2};
  EXPECT_TRUE(board.try_change(swap, kAny));
  EXPECT_THROW(SliceBoard(backend, task, {.slices = whole_tables(task), .shards = {{0, 1}, {}}}),
               Error);
}

TEST(SliceBoard, KeepsTheCostOfAPlanWithSlicesOfManyWidths) {
  const Task task = testing::golden_task("4gpu_dim128", 0);
  const Planner planner(testing::golden_models());
  const CpuBackend backend(select_cpu_kernels("auto"), testing::golden_models(), true);
  const PlanResult result = planner.plan(task);
  ASSERT_GT(result.plan->slices.size(), task.tables.size());
  const SliceBoard board(backend, task, *result.plan);
  EXPECT_EQ(board.cost_ms(), result.cost.cost_ms);
  EXPECT_EQ(simulate(backend, task, board.plan()).cost_ms, result.cost.cost_ms);
}

}  // namespace
}  // namespace neuroshard::bench
