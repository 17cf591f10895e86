#include "neuroshard/replan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"
#include "search/replanning/changed_jobs.h"
#include "search/replanning/small_jobs.h"

namespace neuroshard {
namespace {

using testing::changed_job;
using testing::expect_moves_make_the_plan;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;
using testing::random_task;
using testing::without_small_moves;

// Re-planning does not know row blocks.
Planner planner_of(const CostModels& models, int threads = 1) {
  return Planner(models, {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = threads});
}

TEST(Replan, MovesMakeAValidPlanOfItsCost) {
  for (const CostModels& models : {builtin_weights(), random_models(7)}) {
    const Planner planner = planner_of(models);
    int planned = 0;
    for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(20))) {
      const auto job = changed_job(planner, seed);
      if (!job) continue;
      const ReplanResult replanned = planner.replan(job->task, job->running);
      EXPECT_EQ(replanned.running_cost.cost_ms,
                planner.simulate(job->running.task, job->running.plan).cost_ms);
      const PlanResult& result = replanned.result;
      ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
      if (!result.plan) continue;
      ++planned;
      EXPECT_TRUE(result.cost.fits_memory);
      EXPECT_EQ(planner.simulate(job->task, *result.plan).cost_ms, result.cost.cost_ms);
      expect_moves_make_the_plan(*job, replanned);
    }
    EXPECT_GT(planned, testing::kFewTasks ? 0 : 5);
  }
}

TEST(Replan, WithoutAChangeNothingMovesUnlessItPays) {
  const Planner planner = planner_of(builtin_weights());
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    const Task task = random_task(seed);
    const PlanResult plan = planner.plan(task);
    if (!plan.plan) continue;
    const RunningPlan running{task, *plan.plan, {}};
    const ReplanResult replanned = planner.replan(task, running);
    EXPECT_EQ(replanned.must_move_bytes, 0);
    EXPECT_EQ(replanned.moved_bytes, 0);
    EXPECT_TRUE(replanned.moves.empty());
    EXPECT_LE(replanned.result.cost.cost_ms, plan.cost.cost_ms * (1.0 + 1e-5));
    const double price = 1e-3;
    const ReplanResult paid = planner.replan(task, running, {.ms_per_moved_gib = price});
    const double gib = static_cast<double>(paid.moved_bytes) / (1 << 30);
    EXPECT_LE(paid.result.cost.cost_ms + price * gib, plan.cost.cost_ms * (1.0 + 1e-5));
  }
}

TEST(Replan, KeepsToTheBudgetAndIsNoDearerThanANewPlanWhereAllMayMove) {
  const Planner planner = planner_of(builtin_weights());
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const auto job = changed_job(planner, seed);
    if (!job) continue;
    const PlanResult anew = planner.plan(job->task);
    if (!anew.plan) continue;
    const ReplanResult free = planner.replan(
        job->task, job->running, {.most_moved_bytes = std::numeric_limits<std::int64_t>::max()});
    ASSERT_TRUE(free.result.plan);
    EXPECT_LE(free.result.cost.cost_ms, anew.cost.cost_ms * (1.0 + 1e-5));
    const std::int64_t budget =
        free.must_move_bytes + (free.moved_bytes - free.must_move_bytes) / 2;
    try {
      const ReplanResult half =
          planner.replan(job->task, job->running, {.most_moved_bytes = budget});
      EXPECT_TRUE(half.result.plan);
      EXPECT_LE(half.moved_bytes, budget);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("no plan was found within the move budget"));
    }
  }
}

TEST(Replan, MoreThanTheDefaultBudgetIsNeverDearer) {
  const Planner planner = planner_of(builtin_weights());
  int compared = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(20))) {
    const auto job = changed_job(planner, seed);
    if (!job) continue;
    const ReplanResult usual = planner.replan(job->task, job->running, without_small_moves());
    if (!usual.result.plan) continue;
    const std::int64_t budget = 2 * (usual.moved_bytes + usual.unspent_bytes) + 1;
    const ReplanResult more = planner.replan(job->task, job->running, {.most_moved_bytes = budget});
    ASSERT_TRUE(more.result.plan);
    // Replicas that are dropped have to gain something.
    if (more.result.plan->replicas != usual.result.plan->replicas) continue;
    ++compared;
    EXPECT_LE(more.result.cost.cost_ms, usual.result.cost.cost_ms * (1.0 + 1e-6)) << seed;
  }
  EXPECT_GT(compared, 0);
}

TEST(Replan, MoreEffortIsNeverDearer) {
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(8))) {
    const auto job = changed_job(planner_of(builtin_weights()), seed);
    if (!job) continue;
    // By budget, by price, and free. Small moves are for 1 % of the cost at least, which less
    // effort may gain by them where more effort has gained a part without.
    for (const ReplanRequest& request :
         {without_small_moves(), ReplanRequest{.ms_per_moved_gib = 1e-3},
          ReplanRequest{.most_moved_bytes = std::numeric_limits<std::int64_t>::max()}}) {
      double before_ms = std::numeric_limits<double>::infinity();
      for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
        const Planner planner(builtin_weights(), {.effort = effort, .threads = 1});
        const ReplanResult replanned = planner.replan(job->task, job->running, request);
        const double gib = static_cast<double>(replanned.moved_bytes) / (1 << 30);
        const double charged_ms = replanned.result.cost.cost_ms + request.ms_per_moved_gib * gib;
        EXPECT_LE(charged_ms, before_ms * (1.0 + 1e-12));
        before_ms = charged_ms;
      }
    }
  }
}

TEST(Replan, DoesNotDependOnThreads) {
  const Planner one = planner_of(builtin_weights(), 1);
  const Planner four = planner_of(builtin_weights(), 4);
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(15))) {
    const auto job = changed_job(one, seed);
    if (!job) continue;
    const ReplanResult a = one.replan(job->task, job->running);
    const ReplanResult b = four.replan(job->task, job->running);
    EXPECT_EQ(a.result.plan, b.result.plan);
    EXPECT_EQ(a.moved_bytes, b.moved_bytes);
  }
}

TEST(Replan, ADeadlineInThePastStillHasThePlanThatKeepsSlices) {
  const Planner planner = planner_of(builtin_weights());
  const Task task = random_task(3);
  const PlanResult plan = planner.plan(task);
  ASSERT_TRUE(plan.plan);
  ReplanRequest request;
  request.plan.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const ReplanResult replanned = planner.replan(task, {task, *plan.plan, {}}, request);
  ASSERT_TRUE(replanned.result.plan);
  EXPECT_FALSE(replanned.result.complete);
  EXPECT_EQ(replanned.moved_bytes, 0);
}

TEST(Replan, RefusesRequestsThatMakeNoSense) {
  const Planner planner = planner_of(builtin_weights());
  const Task task = random_task(3);
  const PlanResult plan = planner.plan(task);
  ASSERT_TRUE(plan.plan);
  const RunningPlan running{task, *plan.plan, {}};
  const auto message = [&](const ReplanRequest& request) {
    return message_of([&] { (void)planner.replan(task, running, request); });
  };
  EXPECT_THAT(message({.most_moved_bytes = -1}), HasSubstr("move budget is negative"));
  EXPECT_THAT(message({.unspent_bytes = -1}), HasSubstr("move budgets are negative"));
  EXPECT_THAT(message({.unspent_bytes = 0, .ms_per_moved_gib = 1.0}),
              HasSubstr("give one of them"));
  EXPECT_THAT(message({.small_moves_share = -0.1}), HasSubstr("give between 0 and 1"));
  EXPECT_THAT(message({.small_moves_share = 1.1}), HasSubstr("give between 0 and 1"));
  EXPECT_THAT(message({.small_moves_bytes = -1}), HasSubstr("the bytes of small moves"));
  EXPECT_THAT(message({.ms_per_moved_gib = -1.0}), HasSubstr("price of a moved GiB"));
  EXPECT_THAT(message({.ms_per_moved_gib = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("price of a moved GiB"));

  Task grown = task;
  grown.tables.push_back(grown.tables.front());
  grown.tables.back().name = "new";
  EXPECT_THAT(message_of([&] { (void)planner.replan(grown, running, {.most_moved_bytes = 0}); }),
              HasSubstr("no plan was found within the move budget of 0 B; give at least "));

  const Planner published(builtin_weights(), {.algorithm = Algorithm::kPublished});
  EXPECT_EQ(message_of([&] { (void)published.replan(task, running); }),
            "algorithm published does not re-plan; use neuroshard");
}

// Equal tables are told apart by their groups and by what devices hold of them.
TEST(Replan, DoesNotDependOnTheOrderOfEqualTables) {
  const Planner planner = planner_of(random_models(7));
  int replanned = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(20))) {
    Random random(seed, 3);
    RunningPlan running;
    running.task = random_task(seed);
    std::vector<Table>& tables = running.task.tables;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      if (t > 0 && random.below(2) == 0) tables[t] = tables[random.below(t)];
      tables[t].name = "table " + std::to_string(t);
    }
    testing::add_random_groups(running.task, 3, random);
    PlanResult plan = planner.plan(running.task);
    if (!plan.plan) continue;
    running.plan = *std::move(plan.plan);
    Task task = running.task;
    ++task.devices;
    std::vector<std::size_t> order(tables.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Task shuffled = task;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (std::size_t i = 0; i < order.size(); ++i) shuffled.tables[i] = task.tables[order[i]];
    for (TableGroup& group : shuffled.groups) {
      for (int& table : group.tables) {
        table = static_cast<int>(std::ranges::find(order, static_cast<std::size_t>(table)) -
                                 order.begin());
      }
    }
    const ReplanResult a = planner.replan(task, running);
    const ReplanResult b = planner.replan(shuffled, running);
    // Groups that are alike leave tables of theirs alike; plans are then near to each other.
    if (task.groups.size() > 1) {
      EXPECT_NEAR(a.result.cost.cost_ms, b.result.cost.cost_ms,
                  2e-2 * std::abs(a.result.cost.cost_ms));
    } else {
      EXPECT_EQ(a.result.cost.cost_ms, b.result.cost.cost_ms);
      EXPECT_EQ(a.moved_bytes, b.moved_bytes);
    }
    if (a.result.plan) ++replanned;
  }
  EXPECT_GT(replanned, 0);
}

}  // namespace
}  // namespace neuroshard
