// Which tables are replicated within budgets of moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/replanning/small_jobs.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSmallTablesBytes;
using testing::message_of;
using testing::planner_of;
using testing::small_changed_job;
using testing::whole_tables_job;
using testing::with_small_tables;
using testing::without_small_moves;

TEST(MoveBudget, ASmallTableIsReplicatedWhereTheBudgetAllowsIt) {
  const RunningPlan running = whole_tables_job();
  const Task task = with_small_tables(running.task);
  const Planner planner = planner_of();
  const ReplanResult least = planner.replan(task, running, {.most_moved_bytes = kSmallTablesBytes});
  EXPECT_THAT(least.result.plan.value().replicas, IsEmpty());
  EXPECT_EQ(least.moved_bytes, kSmallTablesBytes);
  const ReplanResult all =
      planner.replan(task, running, {.most_moved_bytes = 8 * kSmallTablesBytes});
  EXPECT_THAT(all.result.plan.value().replicas, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(all.moved_bytes, 8 * kSmallTablesBytes);
  EXPECT_EQ(all.must_move_bytes, kSmallTablesBytes);
  EXPECT_LT(all.result.cost.cost_ms, least.result.cost.cost_ms);
}

TEST(MoveBudget, WhatEarlierBudgetsLeftPaysForReplicas) {
  const RunningPlan running = whole_tables_job();
  const Task task = with_small_tables(running.task);
  const Planner planner = planner_of();
  const ReplanResult least =
      planner.replan(task, running, without_small_moves({.unspent_bytes = 0}));
  EXPECT_THAT(least.result.plan.value().replicas, IsEmpty());
  EXPECT_EQ(least.moved_bytes, kSmallTablesBytes);
  EXPECT_EQ(least.unspent_bytes, kSmallTablesBytes / 5);
  const ReplanResult all = planner.replan(task, running, {.unspent_bytes = 7 * kSmallTablesBytes});
  EXPECT_THAT(all.result.plan.value().replicas, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(all.moved_bytes, 8 * kSmallTablesBytes);
  EXPECT_EQ(all.unspent_bytes, kSmallTablesBytes / 5);
}

TEST(MoveBudget, ThatIsTooSmallSaysWhatIsEnough) {
  const RunningPlan running = whole_tables_job();
  const Task task = with_small_tables(running.task);
  const auto message = [&](const ReplanRequest& request) {
    return message_of([&] { (void)planner_of().replan(task, running, request); });
  };
  EXPECT_EQ(message({.most_moved_bytes = 0}),
            "no plan was found within the move budget of 0 B; give at least 81920 bytes "
            "(7.6294e-05 GiB)");
  EXPECT_EQ(
      message({.most_moved_bytes = 10'000, .unspent_bytes = 10'000}),
      "no plan was found within the move budget of 19.5 KiB, what earlier ones left included; "
      "give at least 81920 bytes (7.6294e-05 GiB)");
}

// Tables take on all devices far more than a hundred times their replicas.
TEST(MoveBudget, SmallTablesAreReplicatedThoughTheirOwnBudgetIsTooSmall) {
  const RunningPlan running = whole_tables_job();
  const Task task = with_small_tables(running.task);
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    const Planner planner(builtin_weights(), {.effort = effort, .threads = 1});
    const ReplanResult own = planner.replan(task, running, without_small_moves());
    EXPECT_LE(own.moved_bytes, kSmallTablesBytes + kSmallTablesBytes / 5);
    const ReplanResult small = planner.replan(task, running, {.small_moves_bytes = 0});
    EXPECT_THAT(small.result.plan.value().replicas, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
    EXPECT_EQ(small.moved_bytes, 8 * kSmallTablesBytes);
    EXPECT_EQ(small.must_move_bytes, kSmallTablesBytes);
    EXPECT_LT(small.result.cost.cost_ms * 1.01, own.result.cost.cost_ms);
    // Seven copies of each, by eight devices.
    const ReplanResult by_bytes = planner.replan(
        task, running, {.small_moves_share = 0.0, .small_moves_bytes = 7 * kSmallTablesBytes / 8});
    EXPECT_EQ(by_bytes.moved_bytes, 8 * kSmallTablesBytes);
    const ReplanResult account = planner.replan(task, running, {.unspent_bytes = 0});
    EXPECT_EQ(account.moved_bytes, 8 * kSmallTablesBytes);
    EXPECT_EQ(account.unspent_bytes, 0);
  }
  // Too small a share gives nothing, and where nothing must be moved nothing is.
  const Planner planner = planner_of();
  for (const ReplanRequest& request :
       {ReplanRequest{.small_moves_share = 1e-9, .small_moves_bytes = 0},
        ReplanRequest{.small_moves_share = 0.0, .small_moves_bytes = 1000}}) {
    EXPECT_LE(planner.replan(task, running, request).moved_bytes,
              kSmallTablesBytes + kSmallTablesBytes / 5);
  }
  EXPECT_EQ(planner.replan(running.task, running).moved_bytes, 0);
}

// More than 1.2 times what must be moved is moved for 1 % of the cost at least.
TEST(MoveBudget, SmallMovesPay) {
  int small = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    const Planner planner = planner_of();
    const auto job = small_changed_job(planner, seed);
    if (!job) continue;
    const ReplanResult own = planner.replan(job->task, job->running, without_small_moves());
    const ReplanResult any = planner.replan(job->task, job->running);
    if (!own.result.plan) continue;
    ASSERT_TRUE(any.result.plan);
    EXPECT_TRUE(check_plan(*any.result.plan, job->task).empty());
    if (any.moved_bytes == own.moved_bytes && any.result.cost.cost_ms == own.result.cost.cost_ms) {
      continue;
    }
    ++small;
    EXPECT_GT(any.must_move_bytes, 0);
    EXPECT_LE(any.result.cost.cost_ms * 1.01, own.result.cost.cost_ms * (1.0 + 1e-12));
  }
  EXPECT_GT(small, testing::kFewTasks ? -1 : 0);
}

TEST(MoveBudget, ChangesOfOneAccountMoveNoMoreThanTheirBudgetsTogether) {
  for (const Cuts cuts : {Cuts::kAny, Cuts::kColumns}) {
    const Planner planner(builtin_weights(), {.effort = Effort::kFast, .cuts = cuts, .threads = 1});
    int left = 0;
    for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(30))) {
      const auto job = small_changed_job(planner, seed);
      if (!job) continue;
      constexpr std::int64_t kUnspent = 50'000;
      const ReplanResult first =
          planner.replan(job->task, job->running, without_small_moves({.unspent_bytes = 0}));
      const ReplanResult more =
          planner.replan(job->task, job->running, without_small_moves({.unspent_bytes = kUnspent}));
      const ReplanResult given = planner.replan(
          job->task, job->running,
          {.most_moved_bytes = first.must_move_bytes + 1000, .unspent_bytes = kUnspent});
      ASSERT_TRUE(first.result.plan && more.result.plan);
      EXPECT_TRUE(check_plan(*more.result.plan, job->task).empty());
      for (const ReplanResult* one : {&first, &more, &given}) EXPECT_GE(one->unspent_bytes, 0);
      if (given.result.plan) {
        EXPECT_EQ(given.moved_bytes + given.unspent_bytes, first.must_move_bytes + 1000 + kUnspent);
      }
      left += first.unspent_bytes > 0 ? 1 : 0;
      // Bytes beyond the budget come from earlier ones, unless devices have been added.
      if (job->task.devices <= job->running.task.devices &&
          more.moved_bytes > first.must_move_bytes + first.must_move_bytes / 5) {
        EXPECT_LT(more.unspent_bytes, kUnspent);
      }
    }
    EXPECT_GT(left, testing::kFewTasks ? -1 : 0);
  }
}

}  // namespace
}  // namespace neuroshard
