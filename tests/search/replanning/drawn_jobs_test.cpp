// Re-planning of jobs with all that a task can say: nodes, links, rules, groups, unequal devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"
#include "search/replanning/small_jobs.h"
#include "search/state/running_holders.h"

namespace neuroshard {
namespace {

using testing::planner_of;
using testing::table_of;

struct DrawnJob {
  RunningPlan running;
  Task task;
};

/// A running job to which much comes at once: other devices, tables, statistics, rules and groups.
std::optional<DrawnJob> drawn_job(const Planner& planner, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  DrawnJob job;
  Task& before = job.running.task = testing::random_task_of_all_kinds(seed);
  if (before.devices < 2) return std::nullopt;
  for (std::size_t t = 0; t < before.tables.size(); ++t) {
    before.tables[t].name = "table " + std::to_string(t);
  }
  if (below(4) == 0 && before.device_list.empty()) testing::make_unequal(before);
  if (below(3) == 0 && before.devices > 3) {
    before.devices_per_node = 2;
    if (below(2) == 0) {
      before.links = NodeLinks{.in_node_gb_s = 200.0, .between_nodes_gb_s = 10.0};
    }
  }
  const PlanResult plan = planner.plan(before);
  if (!plan.plan) return std::nullopt;
  job.running.plan = *plan.plan;
  Task& task = job.task = before;
  const bool whole_nodes = before.devices_per_node == 2;
  const int changed = whole_nodes ? 2 : 1;
  if (below(4) == 0 && task.device_list.empty()) {
    task.devices += changed;
  } else if (below(3) == 0 && task.devices > 3) {
    for (int d = 0; d < changed; ++d) job.running.lost_devices.push_back(d);
    task.devices -= changed;
    if (!task.device_list.empty()) {
      task.device_list.erase(task.device_list.begin(), task.device_list.begin() + changed);
    }
  }
  if (below(3) == 0) {
    task.tables.push_back(task.tables[below(task.tables.size())]);
    task.tables.back().name = "added";
  }
  if (below(4) == 0) task.tables[below(task.tables.size())].rows += 1000;
  if (below(4) == 0) task.tables[below(task.tables.size())].pooling_factor *= 20.0;
  Random drawn(seed, 3);
  if (below(5) == 0 && task.device_list.empty()) testing::add_random_rules(task, drawn);
  if (below(5) == 0) testing::add_random_groups(task, 2, drawn);
  return job;
}

void expect_good(const Planner& planner, const DrawnJob& job, const ReplanResult& near) {
  const Plan& plan = near.result.plan.value();
  EXPECT_TRUE(check_plan(plan, job.task).empty());
  EXPECT_TRUE(near.result.cost.fits_memory);
  EXPECT_EQ(planner.simulate(job.task, plan).cost_ms, near.result.cost.cost_ms);
  const RunningHolders holders(job.task, job.running);
  EXPECT_EQ(near.moved_bytes, moved_bytes(holders.moves_to(plan)));
  EXPECT_EQ(near.moved_bytes, moved_bytes(near.moves));
}

TEST(DrawnJobs, PlansAreValidAndMoveWhatTheySay) {
  const Planner planner = planner_of();
  const Planner equal(builtin_weights(),
                      {.effort = Effort::kFast, .equal_widths = true, .threads = 1});
  const Planner columns = planner_of(Effort::kFast, Cuts::kColumns);
  int planned = 0;
  int in_blocks = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    const std::optional<DrawnJob> job = drawn_job(planner, seed);
    if (!job) continue;
    const Planner& by = seed % 3 == 0 ? equal : seed % 3 == 1 ? columns : planner;
    const ReplanResult near = by.replan(job->task, job->running);
    EXPECT_TRUE(near.result.plan || !by.plan(job->task).plan);
    if (!near.result.plan) {
      EXPECT_TRUE(near.result.infeasible);
      continue;
    }
    ++planned;
    expect_good(by, *job, near);
    in_blocks += has_row_blocks(job->task, *near.result.plan) ? 1 : 0;
    // A budget that is as large as what is moved has a plan, which is no dearer than any within
    // what moves least.
    const ReplanResult within =
        by.replan(job->task, job->running, {.most_moved_bytes = near.moved_bytes});
    expect_good(by, *job, within);
    EXPECT_LE(within.moved_bytes, near.moved_bytes);
  }
  EXPECT_GT(planned, testing::kFewTasks ? 0 : 20);
  EXPECT_GT(in_blocks, testing::kFewTasks ? -1 : 3);
}

TEST(DrawnJobs, WithoutAChangeAPlanStays) {
  const Planner planner = planner_of();
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const std::optional<DrawnJob> job = drawn_job(planner, seed);
    if (!job) continue;
    const RunningPlan running{job->running.task, job->running.plan};
    const ReplanResult same = planner.replan(running.task, running, {.most_moved_bytes = 0});
    EXPECT_EQ(same.moved_bytes, 0);
    EXPECT_EQ(same.must_move_bytes, 0);
    EXPECT_LE(same.result.cost.cost_ms, same.running_cost.cost_ms * (1.0 + 1e-5));
  }
}

TEST(DrawnJobs, ThreadsFindTheSamePlans) {
  const Planner one = planner_of(Effort::kDefault);
  const Planner two = planner_of(Effort::kDefault, {}, 2);
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(8))) {
    const std::optional<DrawnJob> job = drawn_job(one, seed);
    if (!job) continue;
    EXPECT_EQ(one.replan(job->task, job->running).result.plan,
              two.replan(job->task, job->running).result.plan);
  }
}

/// The cheapest plan of whole tables that moves no more than `most_moved_bytes`.
double cheapest_ms(const Planner& planner, const Task& task, const RunningPlan& running,
                   std::int64_t most_moved_bytes) {
  const RunningHolders holders(task, running);
  double least_ms = std::numeric_limits<double>::infinity();
  std::vector<int> device_of(task.tables.size(), 0);
  for (bool more = true; more;) {
    Plan plan{.slices = whole_tables(task), .shards = {}};
    plan.shards.resize(static_cast<std::size_t>(task.devices));
    for (std::size_t t = 0; t < device_of.size(); ++t) {
      plan.shards[static_cast<std::size_t>(device_of[t])].push_back(static_cast<int>(t));
    }
    if (moved_bytes(holders.moves_to(plan)) <= most_moved_bytes) {
      least_ms = std::min(least_ms, planner.simulate(task, plan).cost_ms);
    }
    more = false;
    for (int& device : device_of) {
      if (++device < task.devices) {
        more = true;
        break;
      }
      device = 0;
    }
  }
  return least_ms;
}

TEST(DrawnJobs, OfFewWholeTablesTheCheapestPlanWithinTheBudgetIsFound) {
  const Planner planner = planner_of(Effort::kDefault);
  std::mt19937_64 random(6);
  int plans = 0;
  int best = 0;
  for (std::uint64_t round = 0; round < testing::drawn_tasks(20); ++round) {
    SCOPED_TRACE(round);
    RunningPlan running;
    running.task.devices = 3;
    running.task.memory_bytes = std::int64_t{1} << 34;
    for (int t = 0; t < 6; ++t) {
      // In this order with every compiler.
      const int rows = 100'000 + 10'000 * static_cast<int>(random() % 90);
      const int dim = 4 + 4 * static_cast<int>(random() % 32);
      const double pooling_factor = std::exp2(static_cast<double>(random() % 6));
      Table table = table_of("t" + std::to_string(t), rows, dim, pooling_factor);
      table.rules.kinds = {ShardingKind::kTable};
      running.task.tables.push_back(table);
    }
    running.plan = planner.plan(running.task).plan.value();
    Task task = running.task;
    task.tables[random() % 6].pooling_factor *= 8.0;
    std::int64_t total = 0;
    for (const Table& table : task.tables) total += table.size_bytes();
    for (const std::int64_t budget : {total / 10, total / 4, total / 2}) {
      const ReplanResult near = planner.replan(task, running, {.most_moved_bytes = budget});
      const double least_ms = cheapest_ms(planner, task, running, budget);
      EXPECT_LE(near.moved_bytes, budget);
      EXPECT_GE(near.result.cost.cost_ms, least_ms * (1.0 - 1e-6));
      EXPECT_LE(near.result.cost.cost_ms, least_ms * 1.03);
      ++plans;
      best += near.result.cost.cost_ms <= least_ms * (1.0 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GE(best, plans * 9 / 10);
}

/// Two nodes of two devices; a table that comes must be in blocks on one of them.
TEST(DrawnJobs, ANewTableIsPutInBlocksOnANode) {
  RunningPlan running;
  running.task.devices = 4;
  running.task.devices_per_node = 2;
  running.task.memory_bytes = std::int64_t{1} << 30;
  running.task.tables = {table_of("a", 1000, 32, 1.0), table_of("b", 1000, 32, 1.0)};
  running.plan = {.slices = whole_tables(running.task), .shards = {{0}, {}, {1}, {}}};
  Task task = running.task;
  task.tables.push_back(table_of("new", 400, 16, 8.0));
  task.tables.back().rules.kinds = {ShardingKind::kTableRow};
  const Planner planner = planner_of();
  const ReplanResult near = planner.replan(task, running, {.most_moved_bytes = 400 * 16 * 4});
  ASSERT_TRUE(near.result.plan);
  EXPECT_TRUE(check_plan(*near.result.plan, task).empty());
  EXPECT_EQ(near.must_move_bytes, 400 * 16 * 4);
  EXPECT_EQ(near.moved_bytes, near.must_move_bytes);
}

}  // namespace
}  // namespace neuroshard
