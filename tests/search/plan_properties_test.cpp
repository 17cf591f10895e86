// Properties that hold for every task: each column placed once, memory respected, or a reason.
#include <gtest/gtest.h>

#include <thread>

#include "every_cpu_backend.h"
#include "neuroshard/backend.h"
#include "neuroshard/planner.h"
#include "random_policies.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::random_models;
using testing::random_task;

void expect_valid(const Task& task, const PlanResult& result, const Planner& planner) {
  ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
  if (!result.plan) {
    EXPECT_FALSE(result.infeasible->message.empty());
    return;
  }
  EXPECT_NO_THROW(validate(*result.plan, task));
  EXPECT_TRUE(result.cost.fits_memory);
  EXPECT_EQ(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
}

// True if no packing can help.
bool provably_infeasible(const Task& task) {
  std::int64_t total = 0;
  for (const Table& table : task.tables) {
    total += table.size_bytes();
    int dim = table.dim;
    while (can_split_columns(dim)) dim /= 2;
    if (slice_bytes(table, dim) > room_bytes(task, 0)) return true;
  }
  return total > total_room_bytes(task);
}

class EveryBackend : public testing::EveryCpuBackend {};

TEST_P(EveryBackend, PlacesEveryColumnOnceWithinMemory) {
  PlannerOptions options{.backend = GetParam()};
  // A small search reaches every path; many tasks matter more here. Backends find the same plans to
  // the last bit, so that the fastest one has most of them.
  options.search = {.beam_width = 2, .candidates = 3, .max_splits = 2, .grid_steps = 3};
  options.effort = Effort::kFast;
  const Planner planner(random_models(1), options);
  int infeasible = 0;
  int packing_failures = 0;
  const std::uint64_t tasks =
      testing::drawn_tasks(GetParam() == available_cpu_backends().front() ? 300 : 25);
  for (const std::uint64_t seed : testing::Seeds(tasks)) {
    const Task task = random_task(seed);
    const PlanResult result = planner.plan(task);
    expect_valid(task, result, planner);
    if (!result.infeasible) continue;
    ++infeasible;
    if (result.infeasible->kind == Infeasibility::Kind::kPacking) {
      ++packing_failures;
    } else {
      EXPECT_TRUE(provably_infeasible(task));
    }
    EXPECT_EQ(result.infeasible->kind != Infeasibility::Kind::kPacking, provably_infeasible(task));
  }
  EXPECT_GT(infeasible, 0);
  EXPECT_LT(packing_failures, infeasible / 2 + 1);
}

TEST_P(EveryBackend, SameTaskSamePlan) {
  PlannerOptions options{.backend = GetParam()};
  const bool is_scalar = GetParam() == "scalar";
  if (is_scalar) options.effort = Effort::kFast;  // The next test makes longer ones.
  const Planner planner(random_models(2), options);
  for (std::uint64_t seed = 0; seed < (is_scalar ? testing::drawn_tasks(5) : 5); ++seed) {
    const Task task = random_task(seed);
    EXPECT_EQ(planner.plan(task).plan, planner.plan(task).plan);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, EveryBackend, ::testing::ValuesIn(cpu_backends()));

TEST(Planner, BestAndScalarBackendFindTheSamePlansToTheLastBit) {
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 4},
      .backend = "scalar"};
  const Planner scalar(random_models(3), options);
  options.backend = available_cpu_backends().front();
  const Planner best(random_models(3), options);
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(3))) {
    const Task task = random_task(seed);
    const PlanResult a = scalar.plan(task);
    const PlanResult b = best.plan(task);
    EXPECT_EQ(a.plan, b.plan);
    EXPECT_EQ(a.cost.cost_ms, b.cost.cost_ms);
  }
}

TEST(Planner, ThreadsAndBatchesChangeNothing) {
  std::vector<Task> tasks;
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(30); ++seed) {
    tasks.push_back(random_task(seed));
  }
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 4}, .threads = 1};
  const Planner one(random_models(7), options);
  options.threads = 4;
  const Planner four(random_models(7), options);
  const std::vector<PlanOutcome> batch = four.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    const PlanResult expected = one.plan(tasks[i]);
    EXPECT_EQ(four.plan(tasks[i]).plan, expected.plan);
    EXPECT_EQ(batch[i]->plan, expected.plan);
    EXPECT_EQ(batch[i]->cost.cost_ms, expected.cost.cost_ms);
    EXPECT_EQ(batch[i]->stats.placements, expected.stats.placements);
  }
}

TEST(Planner, IsShareableBetweenThreads) {
  PlannerOptions options{.effort = Effort::kFast, .threads = 2};
  const Planner planner(random_models(8), options);
  constexpr int kThreads = 4;
  std::vector<std::vector<PlanResult>> results(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : results) {
      threads.emplace_back([&] {
        for (std::uint64_t seed = 0; seed < testing::drawn_tasks(20); ++seed) {
          mine.push_back(planner.plan(random_task(seed)));
        }
      });
    }
  }
  for (const auto& mine : results) {
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(mine[i].plan, results[0][i].plan);
  }
}

TEST(Planner, BaselinesPlaceEveryTableWithinMemory) {
  for (const Algorithm algorithm : all_algorithms()) {
    if (algorithm == Algorithm::kNeuroshard || algorithm == Algorithm::kPublished) continue;
    PlannerOptions options{.algorithm = algorithm};
    options.policy = testing::random_policy(algorithm);
    const Planner planner(random_models(4), options);
    for (const std::uint64_t seed : testing::Seeds(300)) {
      const Task task = random_task(seed);
      expect_valid(task, planner.plan(task), planner);
    }
  }
}

}  // namespace
}  // namespace neuroshard
