// Remembering work changes nothing: every decision is the same to the last bit.
#include <gtest/gtest.h>

#include <array>

#include "golden.h"
#include "neuroshard/backend.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::golden_models;
using testing::golden_plans;
using testing::golden_sets;
using testing::golden_task;
using testing::random_models;
using testing::random_task;

PlannerOptions options_with(bool reuse_work) {
  return {.algorithm = Algorithm::kPublished,
          .backend = available_cpu_backends().front(),
          .reuse_work = reuse_work};
}

void expect_same(const PlanResult& a, const PlanResult& b) {
  EXPECT_EQ(a.plan, b.plan);
  EXPECT_EQ(a.cost.cost_ms, b.cost.cost_ms);
  EXPECT_EQ(a.infeasible.has_value(), b.infeasible.has_value());
  EXPECT_EQ(a.stats.candidates, b.stats.candidates);
  EXPECT_EQ(a.stats.placements, b.stats.placements);
}

TEST(Reuse, SamePlansOnEveryGoldenTask) {
  const Planner fast(golden_models(), options_with(true));
  const Planner plain(golden_models(), options_with(false));
  for (const std::string& set : golden_sets()) {
    const auto plans = golden_plans(set);
    for (std::size_t i = 0; i < drawn_tasks(plans.size() / 2); ++i) {
      const auto& golden = plans[i];
      SCOPED_TRACE(set + " task " + std::to_string(golden.task));
      const Task task = golden_task(set, golden.task);
      const PlanResult result = fast.plan(task);
      expect_same(result, plain.plan(task));
      EXPECT_LT(result.stats.comm_evaluations, result.stats.placements);
    }
  }
}

TEST(Reuse, SamePlansOnRandomTasks) {
  PlannerOptions fast_options = options_with(true);
  PlannerOptions plain_options = options_with(false);
  const SearchOptions small = {.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 6};
  fast_options.search = plain_options.search = small;
  const Planner fast(random_models(5), fast_options);
  const Planner plain(random_models(5), plain_options);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(2000))) {
    const Task task = random_task(seed);
    expect_same(fast.plan(task), plain.plan(task));
  }
}

TEST(Reuse, SamePlansAndFailuresWithoutMemorySplits) {
  PlannerOptions fast_options = options_with(true);
  PlannerOptions plain_options = options_with(false);
  fast_options.search = plain_options.search = {
      .beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 6, .memory_splits = false};
  const Planner fast(random_models(5), fast_options);
  const Planner plain(random_models(5), plain_options);
  int failed = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(300))) {
    const Task task = random_task(seed);
    const PlanResult result = fast.plan(task);
    expect_same(result, plain.plan(task));
    failed += result.plan ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
}

// More devices than a block of DeviceBoard has.
TEST(Reuse, SamePlansOnManyDevices) {
  PlannerOptions fast_options = options_with(true);
  PlannerOptions plain_options = options_with(false);
  fast_options.search =
      plain_options.search = {.beam_width = 1, .candidates = 2, .max_splits = 2, .grid_steps = 4};
  const Planner fast(random_models(8), fast_options);
  const Planner plain(random_models(8), plain_options);
  for (const std::uint64_t seed : testing::Seeds(40)) {
    Task task = random_task(8 * seed);
    for (std::uint64_t more = 1; more < 8; ++more) {
      const Task other = random_task(8 * seed + more);
      task.tables.insert(task.tables.end(), other.tables.begin(), other.tables.end());
    }
    task.devices = std::array{33, 64, 100, 161}[seed % 4];
    std::int64_t total = 0;
    for (const Table& table : task.tables) total += table.size_bytes();
    // From ample memory to too little.
    task.memory_bytes = std::max<std::int64_t>(
        1, total / task.devices * static_cast<std::int64_t>(2 + seed % 5) / 2);
    expect_same(fast.plan(task), plain.plan(task));
  }
}

TEST(Reuse, SamePlansWithOtherLayerSizes) {
  PlannerOptions fast_options = options_with(true);
  PlannerOptions plain_options = options_with(false);
  fast_options.search.max_splits = plain_options.search.max_splits = 3;
  const testing::ModelShape shapes[] = {
      {.table_network = {16, 12}, .head = {20, 1}, .comm = {8}, .devices = {1, 2, 4, 8, 16}},
      {.table_network = {40}, .head = {100, 1}, .comm = {}, .devices = {}},
      {.table_network = {24, 48}, .head = {32, 16, 1}, .comm = {30, 20, 10}, .devices = {}},
      {.table_network = {8}, .head = {1}, .comm = {4, 1}, .devices = {1, 2, 4, 8, 16}},
  };
  for (const auto& shape : shapes) {
    const Planner fast(random_models(6, shape), fast_options);
    const Planner plain(random_models(6, shape), plain_options);
    PlannerOptions scalar_options = fast_options;
    scalar_options.backend = "scalar";
    const Planner scalar(random_models(6, shape), scalar_options);
    for (const std::uint64_t seed : testing::Seeds(12)) {
      const Task task = random_task(seed);
      const PlanResult result = fast.plan(task);
      expect_same(result, plain.plan(task));
      expect_same(result, scalar.plan(task));
    }
  }
}

TEST(Reuse, SamePlansWhereTheSearchStartsEverywhere) {
  PlannerOptions fast_options = options_with(true);
  PlannerOptions plain_options = options_with(false);
  fast_options.algorithm = plain_options.algorithm = Algorithm::kNeuroshard;
  fast_options.effort = plain_options.effort = Effort::kFast;
  const Planner fast(random_models(5), fast_options);
  const Planner plain(random_models(5), plain_options);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const Task task = random_task(seed);
    expect_same(fast.plan(task), plain.plan(task));
  }
}

}  // namespace
}  // namespace neuroshard
