#include "neuroshard/replan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;
using testing::random_task;

// Re-planning does not know row blocks.
Planner planner_of(const CostModels& models, int threads = 1) {
  return Planner(models, {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = threads});
}

/// A plan that runs, and what its job has become.
struct ChangedJob {
  RunningPlan running;
  Task task;
};

/// Nothing if the task drawn has no plan.
std::optional<ChangedJob> changed_job(const Planner& planner, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  ChangedJob job;
  job.running.task = random_task(seed);
  for (std::size_t i = 0; i < job.running.task.tables.size(); ++i) {
    job.running.task.tables[i].name = "table " + std::to_string(i);
  }
  PlanResult plan = planner.plan(job.running.task);
  if (!plan.plan) return std::nullopt;
  job.running.plan = *std::move(plan.plan);
  job.task = job.running.task;
  std::vector<Table>& tables = job.task.tables;
  const auto device = static_cast<int>(below(static_cast<std::size_t>(job.task.devices)));
  if (below(2) == 0 && job.task.devices > 1) {
    job.running.lost_devices.push_back(device);
    --job.task.devices;
  } else if (below(3) == 0) {
    ++job.task.devices;
  }
  if (below(2) == 0) {
    tables.push_back(tables[below(tables.size())]);
    tables.back().name = "added";
  }
  if (below(3) == 0) tables[below(tables.size())].rows *= 2;
  if (below(3) == 0) tables[below(tables.size())].pooling_factor *= 3.0;
  if (below(3) == 0 && tables.size() > 1) {
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(below(tables.size())));
  }
  std::shuffle(tables.begin(), tables.end(), random);
  return job;
}

using Column = std::pair<std::string, int>;  ///< Of a table.

/// What each device of the new task holds before any move.
std::vector<std::map<Column, bool>> columns_held(const ChangedJob& job) {
  std::vector<std::map<Column, bool>> held;
  const auto by_device = slices_by_device(job.running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const auto& lost = job.running.lost_devices;
    if (std::find(lost.begin(), lost.end(), static_cast<int>(device)) != lost.end()) continue;
    std::map<Column, bool>& columns = held.emplace_back();
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.running.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) columns[{table.name, slice.first_column + i}] = true;
    }
  }
  held.resize(static_cast<std::size_t>(job.task.devices));
  return held;
}

std::int64_t rows_before(const ChangedJob& job, const std::string& name) {
  for (const Table& table : job.running.task.tables) {
    if (table.name == name) return table.rows;
  }
  return 0;
}

// Every column that a device needs is there already or in exactly one move, whose sender has it;
// bytes are those of what is new to the device.
void expect_moves_make_the_plan(const ChangedJob& job, const ReplanResult& replanned) {
  const auto held = columns_held(job);
  std::vector<std::map<Column, std::int64_t>> received(held.size());  // Rows.
  std::int64_t bytes = 0;
  for (const TableMove& move : replanned.moves) {
    bytes += move.bytes;
    const Table& table = job.task.tables[static_cast<std::size_t>(move.columns.table)];
    const RowBytes row = stored_bytes(table.memory);
    const std::int64_t row_bytes = row.per_column * move.columns.dim + row.per_row;
    EXPECT_EQ(move.bytes % row_bytes, 0);
    for (int i = 0; i < move.columns.dim; ++i) {
      const Column column{table.name, move.columns.first_column + i};
      if (move.from >= 0) {
        EXPECT_TRUE(held[static_cast<std::size_t>(move.from)].contains(column));
      }
      EXPECT_NE(move.from, move.to);
      const bool is_new = received[static_cast<std::size_t>(move.to)]
                              .emplace(column, move.bytes / row_bytes)
                              .second;
      EXPECT_TRUE(is_new);
    }
  }
  EXPECT_EQ(bytes, replanned.moved_bytes);
  const auto by_device = slices_by_device(*replanned.result.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) {
        const Column column{table.name, slice.first_column + i};
        const std::int64_t rows_held =
            held[device].contains(column) ? std::min(table.rows, rows_before(job, table.name)) : 0;
        const auto at = received[device].find(column);
        const std::int64_t sent = at == received[device].end() ? 0 : at->second;
        EXPECT_EQ(sent, table.rows - rows_held);
        if (at != received[device].end()) received[device].erase(at);
      }
    }
    EXPECT_TRUE(received[device].empty()) << "a move that the plan has no use for";
  }
}

TEST(Replan, MovesMakeAValidPlanOfItsCost) {
  for (const CostModels& models : {builtin_weights(), random_models(7)}) {
    const Planner planner = planner_of(models);
    int planned = 0;
    for (std::uint64_t seed = 0; seed < testing::repetitions(80); ++seed) {
      SCOPED_TRACE(seed);
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
      EXPECT_GE(replanned.moved_bytes, replanned.must_move_bytes);
      expect_moves_make_the_plan(*job, replanned);
    }
    EXPECT_GT(planned, NEUROSHARD_SANITIZED ? 0 : 10);
  }
}

TEST(Replan, WithoutAChangeNothingMovesUnlessItPays) {
  const Planner planner = planner_of(builtin_weights());
  for (std::uint64_t seed = 0; seed < testing::repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
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
  for (std::uint64_t seed = 0; seed < testing::repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
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
    const ReplanResult half = planner.replan(job->task, job->running, {.most_moved_bytes = budget});
    if (half.result.plan) {
      EXPECT_LE(half.moved_bytes, budget);
    }
  }
}

TEST(Replan, MoreEffortIsNeverDearer) {
  for (std::uint64_t seed = 0; seed < testing::repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    const auto job = changed_job(planner_of(builtin_weights()), seed);
    if (!job) continue;
    // By budget, by price, and free.
    for (const ReplanRequest& request :
         {ReplanRequest{}, ReplanRequest{.ms_per_moved_gib = 1e-3},
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

// A running plan made elsewhere: its slices are no halves of halves.
TEST(Replan, KeepsColumnsOfAnyWidths) {
  const Planner planner = planner_of(builtin_weights());
  for (std::uint64_t seed = 0; seed < testing::repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ChangedJob job;
    job.running.task = random_task(seed);
    Task& task = job.running.task;
    task.memory_bytes = 2 * total_bytes(task);
    job.running.plan.shards.resize(static_cast<std::size_t>(task.devices));
    for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
      Table& table = task.tables[static_cast<std::size_t>(t)];
      table.name = "table " + std::to_string(t);
      for (int column = 0; column < table.dim;) {
        const auto left = static_cast<std::uint64_t>((table.dim - column) / 4);
        const int dim = 4 + 4 * static_cast<int>(random() % left);
        auto& shard = job.running.plan.shards[random() % job.running.plan.shards.size()];
        shard.push_back(static_cast<int>(job.running.plan.slices.size()));
        job.running.plan.slices.push_back({t, column, dim, 0, table.rows});
        column += dim;
      }
    }
    job.task = task;
    const ReplanResult replanned = planner.replan(job.task, job.running);
    ASSERT_TRUE(replanned.result.plan);
    EXPECT_EQ(replanned.must_move_bytes, 0);
    expect_moves_make_the_plan(job, replanned);
  }
}

TEST(Replan, DoesNotDependOnThreads) {
  const Planner one = planner_of(builtin_weights(), 1);
  const Planner four = planner_of(builtin_weights(), 4);
  for (std::uint64_t seed = 0; seed < testing::repetitions(15); ++seed) {
    SCOPED_TRACE(seed);
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
  EXPECT_THAT(message({.ms_per_moved_gib = -1.0}), HasSubstr("price of a moved GiB"));
  EXPECT_THAT(message({.ms_per_moved_gib = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("price of a moved GiB"));

  Task grown = task;
  grown.tables.push_back(grown.tables.front());
  grown.tables.back().name = "new";
  EXPECT_THAT(message_of([&] { (void)planner.replan(grown, running, {.most_moved_bytes = 0}); }),
              HasSubstr("are on no device that is left and must be moved; give at least as much"));

  const Planner published(builtin_weights(), {.algorithm = Algorithm::kPublished});
  EXPECT_EQ(message_of([&] { (void)published.replan(task, running); }),
            "algorithm published does not re-plan; use neuroshard");
}

// Equal tables are told apart by their groups and by what devices hold of them.
TEST(Replan, DoesNotDependOnTheOrderOfEqualTables) {
  const Planner planner = planner_of(random_models(7));
  int replanned = 0;
  for (std::uint64_t seed = 0; seed < testing::repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
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
    EXPECT_EQ(a.result.cost.cost_ms, b.result.cost.cost_ms);
    EXPECT_EQ(a.moved_bytes, b.moved_bytes);
    if (a.result.plan) ++replanned;
  }
  EXPECT_GT(replanned, 0);
}

}  // namespace
}  // namespace neuroshard
