// Tests promises of the default search: it is never dearer than simpler ways, and more effort is
// never dearer. The plan does not depend on the order of the tables, and the search ends when
// somebody asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "numbers.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/learned_placement.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using testing::drawn_tasks;
using testing::golden_models;
using testing::golden_task;
using testing::kInfinity;
using testing::message_of;
using testing::random_models;
using testing::random_task;

Planner planner_of(const CostModels& models, Algorithm algorithm,
                   Effort effort = Effort::kDefault) {
  return Planner(models, {.algorithm = algorithm, .effort = effort, .threads = 1});
}

double cost_or_infinity(const PlanResult& result) {
  return result.plan ? result.cost.cost_ms : kInfinity;
}

// Some hundred tables on many devices: mean dim sums of a few columns.
Task wide_task(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Task task;
  task.devices = 16 << random() % 4;
  task.memory_bytes = bytes_from_gib(40.0);
  const auto tables = 5 + random() % 60;
  for (std::uint64_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = static_cast<std::int64_t>(10 + random() % 5'000'000);
    table.dim = 16 << random() % 4;
    table.pooling_factor = 1.0 + static_cast<double>(random() % 20);
    table.access_histogram[random() % 5] = 1.0;
  }
  return task;
}

/// Tables of many widths and sizes that fill this share of eight devices.
Task full_task(std::uint64_t seed, double share) {
  std::mt19937_64 random(seed);
  Task task{.devices = 8};
  const auto tables = 6 + random() % 12;
  for (std::uint64_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows =
        static_cast<std::int64_t>(1000 * std::exp2(static_cast<double>(random() % 170) / 10.0));
    table.dim = static_cast<int>(4 + 4 * (random() % 64));
    table.pooling_factor = static_cast<double>(1 + random() % 100);
    table.access_histogram[random() % 5] = 1.0;
  }
  task.memory_bytes =
      static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) / (8.0 * share));
  return task;
}

TEST(PlansByPortfolio, IsNeverDearerThanSimplerWays) {
  const CostModels models = builtin_weights();
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(12))) {
    const Task task = seed % 2 == 0 ? wide_task(seed) : random_task(seed);
    for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
      const PlanResult ours = planner_of(models, Algorithm::kNeuroshard, effort).plan(task);
      for (const Algorithm algorithm : all_algorithms()) {
        if (algorithm == Algorithm::kNeuroshard || algorithm == Algorithm::kRandom) continue;
        if (is_learned(algorithm)) continue;  // No start of the search.
        if (algorithm == Algorithm::kPublished && effort == Effort::kFast) continue;
        const PlanResult simpler = planner_of(models, algorithm).plan(task);
        // Greedy baselines break ties by the order of the tables, which ours does not look at.
        EXPECT_LE(cost_or_infinity(ours), cost_or_infinity(simpler) * (1.0 + 1e-6))
            << name_of(effort) << " " << name_of(algorithm);
      }
    }
  }
}

TEST(PlansByPortfolio, MoreEffortIsNeverDearer) {
  const CostModels symmetric = random_models(11);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const Task task = random_task(seed);
    const double fast =
        cost_or_infinity(planner_of(symmetric, Algorithm::kNeuroshard, Effort::kFast).plan(task));
    const double usual = cost_or_infinity(planner_of(symmetric, Algorithm::kNeuroshard).plan(task));
    EXPECT_LE(usual, fast);
  }
  const Task task = golden_task("2gpu_dim64", 1);
  double before = kInfinity;
  for (const Effort effort : all_efforts()) {
    if (effort == Effort::kThorough && testing::kFewTasks) continue;
    const PlanResult result =
        planner_of(golden_models(), Algorithm::kNeuroshard, effort).plan(task);
    EXPECT_LE(result.cost.cost_ms, before) << name_of(effort);
    EXPECT_TRUE(result.complete);
    before = result.cost.cost_ms;
  }
}

// No rung of the ladder fits, and one more of them would have led elsewhere.
TEST(PlansByPortfolio, MoreEffortIsNeverDearerWhereDevicesAreFull) {
  for (const std::uint64_t seed : {48U, 50U, 54U}) {
    if (seed > 48 && testing::kFewTasks) continue;
    SCOPED_TRACE(seed);
    Task task = wide_task(seed);
    set_memory(task, total_bytes(task) / task.devices * 1003 / 1000);
    const double fast = cost_or_infinity(
        planner_of(builtin_weights(), Algorithm::kNeuroshard, Effort::kFast).plan(task));
    EXPECT_LT(fast, kInfinity);
    EXPECT_LE(cost_or_infinity(planner_of(builtin_weights(), Algorithm::kNeuroshard).plan(task)),
              fast);
  }
}

// Less effort ends with a chain of its own where memory is tight.
TEST(PlansByPortfolio, MoreEffortIsNeverDearerWhereDevicesAreNearlyFull) {
  const Planner fast = planner_of(builtin_weights(), Algorithm::kNeuroshard, Effort::kFast);
  const Planner usual = planner_of(builtin_weights(), Algorithm::kNeuroshard);
  for (const std::uint64_t seed : {2U, 4U, 45U}) {
    if (seed > 4 && testing::kFewTasks) continue;
    const Task task = full_task(seed, 0.93);
    EXPECT_LE(cost_or_infinity(usual.plan(task)), cost_or_infinity(fast.plan(task))) << seed;
  }
}

// Starts of more effort once went other ways than those of less, and few later steps repair that
// where tables are few.
TEST(PlansByPortfolio, MoreEffortIsNeverDearerWhereTablesAreFew) {
  const Planner fast = planner_of(builtin_weights(), Algorithm::kNeuroshard, Effort::kFast);
  const Planner usual = planner_of(builtin_weights(), Algorithm::kNeuroshard);
  for (const std::uint64_t seed : {35U, 37U, 78U}) {
    if (seed > 35 && testing::kFewTasks) continue;
    Task task = wide_task(seed);
    task.devices = 2 + static_cast<int>(seed % 3);
    task.tables.resize(std::min<std::size_t>(task.tables.size(), 4 + seed % 20));
    std::mt19937_64 random(seed + 77);
    for (Table& table : task.tables) {
      table.dim = 4 << random() % 7;
      table.pooling_factor = 1.0 + static_cast<double>(random() % 60);
    }
    EXPECT_LE(cost_or_infinity(usual.plan(task)), cost_or_infinity(fast.plan(task))) << seed;
  }
}

TEST(PlansByPortfolio, DoesNotLookAtTheOrderOfTables) {
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(30))) {
    const bool is_full = seed % 5 == 4;
    const Planner planner = planner_of(builtin_weights(), Algorithm::kNeuroshard,
                                       is_full ? Effort::kDefault : Effort::kFast);
    const Task task = is_full         ? full_task(seed, 0.93)
                      : seed % 3 == 0 ? wide_task(seed)
                                      : random_task(seed);
    const PlanResult listed = planner.plan(task);
    Task shuffled = task;
    std::shuffle(shuffled.tables.begin(), shuffled.tables.end(), std::mt19937_64(seed));
    for (Table& table : shuffled.tables) table.name = "another";
    const PlanResult other = planner.plan(shuffled);
    ASSERT_EQ(listed.plan.has_value(), other.plan.has_value());
    EXPECT_EQ(cost_or_infinity(listed), cost_or_infinity(other));
    EXPECT_EQ(listed.stats.candidates, other.stats.candidates);
    if (!listed.plan) continue;
    EXPECT_NO_THROW(validate(*other.plan, shuffled));
  }
}

TEST(PlansByPortfolio, LeavesNoDeviceEmptyForNothing) {
  // Ten tables of 16 columns on 32 devices: one slice of 4 or more columns each is best.
  Task task{.devices = 32, .memory_bytes = bytes_from_gib(40.0)};
  for (int t = 0; t < 10; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 100'000 * (t + 1);
    table.dim = 16;
    table.pooling_factor = 1.0;
    table.access_histogram[0] = 1.0;
  }
  const CostModels models = builtin_weights();
  const PlanResult ours = planner_of(models, Algorithm::kNeuroshard).plan(task);
  const PlanResult published = planner_of(models, Algorithm::kPublished).plan(task);
  EXPECT_LT(ours.cost.cost_ms, 0.95 * published.cost.cost_ms);
}

TEST(PlansByPortfolio, AlternativesAreDifferentAndInOrder) {
  const Task task = golden_task("4gpu_dim64", 0);
  const Planner planner = planner_of(golden_models(), Algorithm::kNeuroshard);
  const PlanResult result = planner.plan(task, {.alternatives = 5});
  ASSERT_EQ(result.alternatives.size(), 5U);
  double before = 0.0;
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_NO_THROW(validate(other.plan, task));
    EXPECT_EQ(planner.simulate(task, other.plan).cost_ms, other.cost.cost_ms);
    EXPECT_GE(other.cost.cost_ms, before);
    EXPECT_NE(other.plan, *result.plan);
    before = other.cost.cost_ms;
  }
  EXPECT_EQ(planner.plan(task).plan, result.plan);
  EXPECT_THAT(message_of([&] { (void)planner.plan(task, {.alternatives = -1}); }),
              HasSubstr("alternatives is -1"));
}

TEST(PlansByPortfolio, ReportsEveryImprovement) {
  const Task task = golden_task("4gpu_dim128", 2);
  const Planner planner = planner_of(golden_models(), Algorithm::kNeuroshard);
  std::vector<double> costs;
  SearchStage stage = SearchStage::kUniform;
  PlanRequest request;
  request.on_improvement = [&](const Improvement& improvement) {
    EXPECT_NO_THROW(validate(improvement.plan, task));
    EXPECT_EQ(planner.simulate(task, improvement.plan).cost_ms, improvement.cost.cost_ms);
    costs.push_back(improvement.cost.cost_ms);
    EXPECT_GE(improvement.stage, stage);
    stage = improvement.stage;
  };
  const PlanResult result = planner.plan(task, request);
  EXPECT_GE(costs.size(), 2U);
  EXPECT_GT(stage, SearchStage::kGreedy);
  EXPECT_TRUE(std::is_sorted(costs.rbegin(), costs.rend()));
  // The plan with fewer slices is taken among plans that cost about the same.
  EXPECT_LE(costs.back(), result.cost.cost_ms);
  EXPECT_LE(result.cost.cost_ms, costs.back() * 1.001);
  EXPECT_EQ(planner.plan(task).plan, result.plan);  // Looking on changes nothing.

  request.on_improvement = [](const Improvement&) { throw std::runtime_error("enough"); };
  EXPECT_THROW((void)planner.plan(task, request), std::runtime_error);
  EXPECT_EQ(planner.plan(task).plan, result.plan);
}

TEST(PlansByPortfolio, ADeadlineEndsItWithTheBestPlanSoFar) {
  const Task task = wide_task(3);
  const Planner planner = planner_of(builtin_weights(), Algorithm::kNeuroshard, Effort::kThorough);
  PlanRequest request;
  // Long enough for a first plan on a busy machine, and not for all of this effort.
  request.deadline = Clock::now() + std::chrono::seconds(1);
  const PlanResult result = planner.plan(task, request);
  EXPECT_FALSE(result.complete);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_NO_THROW(validate(*result.plan, task));
  EXPECT_TRUE(result.cost.fits_memory);
  EXPECT_EQ(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
}

TEST(PlansByPortfolio, ADeadlineInThePastSaysThatThereWasNoTime) {
  const Planner planner = planner_of(builtin_weights(), Algorithm::kNeuroshard);
  PlanRequest request;
  request.deadline = Clock::now() - std::chrono::seconds(1);
  const PlanResult result = planner.plan(wide_task(4), request);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.plan.has_value());
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kNoTime);
  EXPECT_THAT(result.infeasible->message, HasSubstr("no time"));
  EXPECT_EQ(result.cost.cost_ms, kInfinity);
}

// Wherever it is stopped, there is a plan once there was a first one.
TEST(PlansByPortfolio, CanBeStoppedAtAnyImprovement) {
  const Task task = wide_task(5);
  const Planner planner = planner_of(builtin_weights(), Algorithm::kNeuroshard, Effort::kFast);
  for (int stop_after = 1; stop_after < 6; ++stop_after) {
    std::stop_source source;
    int improvements = 0;
    PlanRequest request;
    request.stop = source.get_token();
    double best = kInfinity;
    request.on_improvement = [&](const Improvement& improvement) {
      best = improvement.cost.cost_ms;
      if (++improvements == stop_after) source.request_stop();
    };
    const PlanResult result = planner.plan(task, request);
    ASSERT_TRUE(result.plan.has_value());
    // A stop at the very last improvement cuts nothing short.
    EXPECT_TRUE(result.complete || improvements >= stop_after);
    EXPECT_FALSE(result.complete && stop_after == 1);
    EXPECT_NO_THROW(validate(*result.plan, task));
    EXPECT_LE(result.cost.cost_ms, best * 1.001);
  }
}

TEST(PlansByPortfolio, EffortsAndAlgorithmsHaveNames) {
  for (const Effort effort : all_efforts()) EXPECT_EQ(effort_from_name(name_of(effort)), effort);
  EXPECT_THAT(message_of([] { (void)effort_from_name("heroic"); }),
              HasSubstr("there is no effort 'heroic'; use one of fast, default, thorough"));
  for (const Algorithm algorithm : all_algorithms()) {
    EXPECT_EQ(algorithm_from_name(name_of(algorithm)), algorithm);
  }
  // The lists are complete: the number after the last one has no name.
  EXPECT_EQ(name_of(static_cast<Algorithm>(all_algorithms().size())), "unknown");
  EXPECT_EQ(name_of(static_cast<Effort>(all_efforts().size())), "unknown");
}

}  // namespace
}  // namespace neuroshard
