// Re-planning that replicates tables, cuts them by rows, or no longer does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/replanning/small_jobs.h"
#include "search/state/running_holders.h"

namespace neuroshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::planner_of;
using testing::small_changed_job;
using testing::SmallChangedJob;
using testing::table_of;
using testing::whole_tables_job;
using testing::without_small_moves;

/// Which rows and columns of its tables a device holds, in units of 4 columns.
using Cells = std::map<std::string, std::vector<std::vector<bool>>>;

void add_cells(Cells& cells, const Table& table, const TableSlice& slice) {
  auto& of_table = cells[table.name];
  of_table.resize(static_cast<std::size_t>(table.rows),
                  std::vector<bool>(static_cast<std::size_t>(table.dim / 4)));
  for (std::int64_t row = slice.first_row; row < slice.first_row + slice.rows; ++row) {
    for (int column = slice.first_column; column < slice.first_column + slice.dim; column += 4) {
      of_table[static_cast<std::size_t>(row)][static_cast<std::size_t>(column / 4)] = true;
    }
  }
}

std::vector<Cells> cells_of(const Task& task, const Plan& plan) {
  std::vector<Cells> cells(plan.shards.size());
  const auto by_device = slices_by_device(plan);
  for (std::size_t device = 0; device < cells.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      add_cells(cells[device], task.tables[static_cast<std::size_t>(slice.table)], slice);
    }
    for (const int t : plan.replicas) {
      const Table& table = task.tables[static_cast<std::size_t>(t)];
      add_cells(cells[device], table, {t, 0, table.dim, 0, table.rows});
    }
  }
  return cells;
}

bool has_cell(const Cells& cells, const std::string& name, std::size_t row, std::size_t column) {
  const auto of_table = cells.find(name);
  return of_table != cells.end() && row < of_table->second.size() && of_table->second[row][column];
}

// Each cell that a device needs and does not hold is in exactly one move, from a device that has it
// or, if none does, from nowhere; and nothing else is.
void expect_moves_are_what_is_missing(const SmallChangedJob& job, const ReplanResult& replanned) {
  std::vector<Cells> held = cells_of(job.running.task, job.running.plan);
  for (const int device : job.running.lost_devices) held.erase(held.begin() + device);
  held.resize(static_cast<std::size_t>(job.task.devices));
  const std::vector<Cells> needed = cells_of(job.task, *replanned.result.plan);
  using Cell = std::tuple<std::size_t, std::string, std::size_t, std::size_t>;  // On a device.
  std::set<Cell> missing;
  for (std::size_t device = 0; device < needed.size(); ++device) {
    for (const auto& [name, rows] : needed[device]) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        for (std::size_t column = 0; column < rows[row].size(); ++column) {
          if (rows[row][column] && !has_cell(held[device], name, row, column)) {
            missing.emplace(device, name, row, column);
          }
        }
      }
    }
  }
  std::int64_t bytes = 0;
  for (const TableMove& move : replanned.moves) {
    const TableColumns& columns = move.columns;
    const std::string& name = job.task.tables[static_cast<std::size_t>(columns.table)].name;
    EXPECT_EQ(move.bytes, move.rows * columns.dim * 4);
    bytes += move.bytes;
    for (std::int64_t row = move.first_row; row < move.first_row + move.rows; ++row) {
      for (int column = columns.first_column; column < columns.first_column + columns.dim;
           column += 4) {
        const auto at = static_cast<std::size_t>(row);
        const auto unit = static_cast<std::size_t>(column / 4);
        EXPECT_EQ(missing.erase({static_cast<std::size_t>(move.to), name, at, unit}), 1U);
        if (move.from >= 0) {
          EXPECT_TRUE(has_cell(held[static_cast<std::size_t>(move.from)], name, at, unit));
        }
      }
    }
  }
  EXPECT_TRUE(missing.empty());
  EXPECT_EQ(replanned.moved_bytes, bytes);
}

/// Replicated, cut by rows, or in columns.
std::map<std::string, ShardingKind> ways_of(const Task& task, const Plan& plan) {
  std::map<std::string, ShardingKind> ways;
  for (const Table& table : task.tables) ways[table.name] = ShardingKind::kColumn;
  for (const int t : plan.replicas) {
    ways[task.tables[static_cast<std::size_t>(t)].name] = ShardingKind::kReplicate;
  }
  for (const TableSlice& slice : plan.slices) {
    if (!is_row_block(task, slice)) continue;
    ways[task.tables[static_cast<std::size_t>(slice.table)].name] = ShardingKind::kRow;
  }
  return ways;
}

/// Whether a table that ran is sharded in another way.
bool changes_ways(const SmallChangedJob& job, const Plan& plan) {
  const auto running = ways_of(job.running.task, job.running.plan);
  return std::ranges::any_of(ways_of(job.task, plan), [&](const auto& now) {
    const auto before = running.find(now.first);
    return before != running.end() && before->second != now.second;
  });
}

TEST(ReplannedWays, MovesAreWhatIsMissingWithinTheBudget) {
  const Planner planner = planner_of();
  int ways_changed = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(20))) {
    const auto job = small_changed_job(planner, seed);
    if (!job) continue;
    const ReplanResult replanned = planner.replan(job->task, job->running);
    ASSERT_TRUE(replanned.result.plan);
    const std::int64_t must = replanned.must_move_bytes;
    for (const std::int64_t budget : {must, must + must / 5, 2 * must + 10'000, kAnyBytes}) {
      const ReplanResult within =
          planner.replan(job->task, job->running, {.most_moved_bytes = budget});
      ASSERT_TRUE(within.result.plan);
      EXPECT_TRUE(check_plan(*within.result.plan, job->task).empty());
      EXPECT_EQ(planner.simulate(job->task, *within.result.plan).cost_ms,
                within.result.cost.cost_ms);
      EXPECT_LE(within.moved_bytes, budget);
      expect_moves_are_what_is_missing(*job, within);
      ways_changed += changes_ways(*job, *within.result.plan) ? 1 : 0;
    }
    expect_moves_are_what_is_missing(*job, replanned);
  }
  EXPECT_GT(ways_changed, testing::kFewTasks ? -1 : 2);
}

TEST(ReplannedWays, WhereAllMayMoveNoPlanIsDearerThanOneMadeAnew) {
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    const Planner planner = planner_of(effort);
    for (std::uint64_t seed = 0; seed < testing::drawn_tasks(effort == Effort::kFast ? 60 : 6);
         ++seed) {
      SCOPED_TRACE(seed);
      const auto job = small_changed_job(planner, seed);
      if (!job) continue;
      const PlanResult anew = planner.plan(job->task);
      ASSERT_TRUE(anew.plan);
      const ReplanResult free =
          planner.replan(job->task, job->running, {.most_moved_bytes = kAnyBytes});
      ASSERT_TRUE(free.result.plan);
      EXPECT_LE(free.result.cost.cost_ms, anew.cost.cost_ms);
    }
  }
}

TEST(ReplannedWays, NoPlanIsDearerThanWithTablesAsTheyRun) {
  const Planner as_they_run(builtin_weights(),
                            {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = 1});
  const Planner planner = planner_of();
  int cheaper = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const auto job = small_changed_job(planner, seed);
    if (!job) continue;
    const ReplanResult same = as_they_run.replan(job->task, job->running);
    const ReplanResult best = planner.replan(job->task, job->running);
    ASSERT_TRUE(same.result.plan);
    EXPECT_LE(best.result.cost.cost_ms, 1.02 * same.result.cost.cost_ms);  // Both are searches.
    EXPECT_EQ(best.must_move_bytes, same.must_move_bytes);
    cheaper += best.result.cost.cost_ms < same.result.cost.cost_ms ? 1 : 0;
  }
  EXPECT_GT(cheaper, testing::kFewTasks ? 0 : 5);
}

TEST(ReplannedWays, DoesNotDependOnThreads) {
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    const Planner one = planner_of(effort);
    const Planner four = planner_of(effort, {}, 4);
    for (std::uint64_t seed = 0; seed < testing::drawn_tasks(effort == Effort::kFast ? 15 : 4);
         ++seed) {
      SCOPED_TRACE(seed);
      const auto job = small_changed_job(one, seed);
      if (!job) continue;
      const ReplanResult a = one.replan(job->task, job->running);
      const ReplanResult b = four.replan(job->task, job->running);
      EXPECT_EQ(a.result.plan, b.result.plan);
      EXPECT_EQ(a.moved_bytes, b.moved_bytes);
    }
  }
}

/// 26 tables of 16 columns, one lookup each, as a recommender of advertisements has them.
Task many_small_tables(int devices) {
  Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 34};
  for (const std::int64_t rows :
       {203931, 18598, 14092, 7012, 18977, 4,  6385,   1245,   49,     186213, 71328, 67288, 11,
        2168,   7338,  61,    4,    932,   15, 204515, 141526, 199433, 60919,  9137,  71,    34}) {
    task.tables.push_back(table_of("t" + std::to_string(task.tables.size()), rows, 16, 1.0));
  }
  return task;
}

// Big tables in halves may not all be joined, so that columns come out even on other numbers of
// replicas than those of a plan that is made anew.
TEST(ReplannedWays, OtherNumbersOfReplicasAreTried) {
  const Planner planner = planner_of(Effort::kDefault);
  const Task before = many_small_tables(16);
  const RunningPlan running{before, planner.plan(before).plan.value(), {2, 9}};
  const Task task = many_small_tables(14);
  const ReplanResult replanned = planner.replan(task, running, without_small_moves());
  const Plan& plan = replanned.result.plan.value();
  EXPECT_TRUE(check_plan(plan, task).empty());
  EXPECT_LE(5 * replanned.moved_bytes, 6 * replanned.must_move_bytes);
  EXPECT_LE(replanned.result.cost.cost_ms, 1.12 * planner.plan(task).cost.cost_ms);
}

/// Replicas that run and are in `plan` no longer, but for the smallest ones for which the budget of
/// any lost device has bytes enough to bring them back.
int dear_drops(const SmallChangedJob& job, const Plan& plan) {
  std::vector<std::int64_t> dropped;
  for (const int t : job.running.plan.replicas) {
    if (std::ranges::binary_search(plan.replicas, t)) continue;
    dropped.push_back(job.task.tables[static_cast<std::size_t>(t)].size_bytes() *
                      (job.task.devices - 1));
  }
  std::vector<std::int64_t> of_device(plan.shards.size(), 0);
  for (std::size_t device = 0; device < of_device.size(); ++device) {
    for (const int i : plan.shards[device]) {
      of_device[device] += slice_bytes(job.task, plan.slices[static_cast<std::size_t>(i)]);
    }
  }
  std::ranges::sort(dropped);
  std::int64_t brought_back = 0;
  auto dear = static_cast<int>(dropped.size());
  for (const std::int64_t bytes : dropped) {
    brought_back += bytes;
    if (brought_back <= std::ranges::min(of_device) / 5) --dear;
  }
  return dear;
}

// A dropped replica has to be worth what it takes to get it back.
TEST(ReplannedWays, AReplicaIsDroppedOnlyForMuch) {
  const Planner as_they_run(builtin_weights(),
                            {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = 1});
  const Planner planner = planner_of();
  int dropped = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const auto job = small_changed_job(planner, seed);
    if (!job) continue;
    const ReplanResult same = as_they_run.replan(job->task, job->running);
    const ReplanResult best = planner.replan(job->task, job->running, without_small_moves());
    const int dear = dear_drops(*job, best.result.plan.value());
    if (dear == 0) continue;
    ++dropped;
    EXPECT_LT(best.result.cost.cost_ms * (1.02 + 0.01 * dear), same.result.cost.cost_ms);
  }
  EXPECT_GT(dropped, testing::kFewTasks ? -1 : 0);  // With few seeds, maybe none.
}

TEST(ReplannedWays, ALargeTableIsNoLongerReplicatedAndMovesNothing) {
  RunningPlan running = whole_tables_job();
  running.task.tables.push_back(table_of("replicated", 2'000'000, 64, 1.0));
  running.plan.replicas = {8};
  const Planner planner = planner_of();
  const ReplanResult result = planner.replan(running.task, running, {.most_moved_bytes = 0});
  ASSERT_TRUE(result.result.plan);
  EXPECT_THAT(result.result.plan->replicas, IsEmpty());
  EXPECT_THAT(result.moves, IsEmpty());
  EXPECT_LT(result.result.cost.cost_ms, 0.5 * result.running_cost.cost_ms);
}

TEST(ReplannedWays, AJobThatReplicatesAllTablesGetsANewOne) {
  RunningPlan running = whole_tables_job();
  running.plan = {
      .slices = {}, .shards = running.plan.shards, .replicas = {0, 1, 2, 3, 4, 5, 6, 7}};
  for (std::vector<int>& shard : running.plan.shards) shard.clear();
  Task task = running.task;
  task.tables.push_back(table_of("new", 1000, 64, 1.0));
  for (const Cuts cuts : {Cuts::kColumns, Cuts::kAny}) {
    const Planner planner(builtin_weights(), {.effort = Effort::kFast, .cuts = cuts, .threads = 1});
    const ReplanResult result = planner.replan(task, running);
    ASSERT_TRUE(result.result.plan);
    EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
    EXPECT_EQ(result.must_move_bytes, 1000 * 64 * 4);
    EXPECT_LE(result.moved_bytes, 1000 * 64 * 4 * 8);
  }
}

TEST(ReplannedWays, ANewTableOfManyLookupsIsCutByRows) {
  const RunningPlan running = whole_tables_job();
  Task task = running.task;
  task.tables.push_back(table_of("looked up", 4'000'000, 4, 400.0));
  const ReplanResult result = planner_of().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_THAT(sharding_kinds(task, *result.result.plan)[8], Contains(ShardingKind::kRow));
  EXPECT_EQ(result.must_move_bytes, 4'000'000LL * 4 * 4);
  EXPECT_EQ(result.moved_bytes, result.must_move_bytes);
}

// Replicas go from 2 devices to 3, as blocks of rows do to 4, and columns stay.
// Two devices hold a table that must be cut by rows and one in columns; one alone has no room.
TEST(ReplannedWays, WithoutAPlanTheReasonIsThatOfPlanningAnew) {
  for (const bool most_in_rows : {true, false}) {
    SCOPED_TRACE(most_in_rows);
    RunningPlan running;
    running.task.devices = 2;
    running.task.memory_bytes = std::int64_t{1} << 30;
    running.task.tables = {{.name = {},
                            .rows = most_in_rows ? 5'000'000 : 2'000'000,
                            .dim = 64,
                            .pooling_factor = 1.0,
                            .rules = {.kinds = {ShardingKind::kRow}}},
                           {.name = {},
                            .rows = most_in_rows ? 1'000'000 : 3'800'000,
                            .dim = 64,
                            .pooling_factor = 1.0}};
    const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
    running.plan = planner.plan(running.task).plan.value();
    Task task = running.task;
    task.devices = 1;
    running.lost_devices = {1};
    const PlanResult anew = planner.plan(task);
    ASSERT_TRUE(anew.infeasible);
    EXPECT_EQ(anew.infeasible->kind, Infeasibility::Kind::kTotalMemory);
    for (const bool budget : {false, true}) {
      ReplanRequest request;
      if (budget) request.most_moved_bytes = std::int64_t{1} << 30;
      const ReplanResult result = planner.replan(task, running, request);
      EXPECT_FALSE(result.result.plan);
      ASSERT_TRUE(result.result.infeasible);
      EXPECT_EQ(result.result.infeasible->kind, Infeasibility::Kind::kTotalMemory);
      EXPECT_EQ(result.result.infeasible->message, anew.infeasible->message);
    }
  }
}

}  // namespace
}  // namespace neuroshard
