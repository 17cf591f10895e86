// Plans near to running ones that have slices of columns, halves of halves or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/replanning/carried_jobs.h"
#include "search/replanning/changed_jobs.h"
#include "search/replanning/small_jobs.h"

namespace neuroshard {
namespace {

using testing::ChangedJob;
using testing::expect_moves_make_the_plan;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_task;
using testing::rows_before;
using testing::running_job;
using testing::small_planner;
using testing::table_of;

Planner columns_planner() {
  return Planner(builtin_weights(),
                 {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = 1});
}

TEST(CarriedColumns, StayWhereTheyAre) {
  RunningPlan running = running_job();
  for (Table& table : running.task.tables) table.name.clear();  // Known by their order.
  running.task.tables[2].dim = 36;
  running.task.tables.resize(3);
  running.plan = {.slices = {{0, 0, 8, 0, 100},
                             {2, 0, 12, 0, 300},
                             {2, 12, 4, 0, 300},
                             {2, 16, 20, 0, 300},
                             {1, 0, 8, 0, 200}},
                  .shards = {{0, 3}, {1, 4}, {2}}};
  const ReplanResult same = small_planner().replan(running.task, running, {.most_moved_bytes = 0});
  ASSERT_TRUE(same.result.plan);
  EXPECT_TRUE(check_plan(*same.result.plan, running.task).empty());
  EXPECT_EQ(same.moved_bytes, 0);
  EXPECT_EQ(std::ranges::count(same.result.plan->slices, 2, &TableSlice::table), 3);

  running.lost_devices = {0};
  Task task = running.task;
  task.devices = 2;
  const ReplanResult result = small_planner().replan(task, running);
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.must_move_bytes, (8 * 100 + 20 * 300) * 4);
  int columns = 0;
  for (const TableMove& move : result.moves) {
    if (move.columns.table != 2 || move.from != -1) continue;
    EXPECT_GE(move.columns.first_column, 16);
    columns += move.columns.dim;
  }
  EXPECT_EQ(columns, 20);
}

/// Table 2, of 96 columns, is cut to slices of these widths, each on the device of its place.
RunningPlan odd_job(const std::vector<std::vector<int>>& widths_of_devices) {
  RunningPlan running = running_job();
  running.task.devices = static_cast<int>(widths_of_devices.size());
  running.task.tables[2].dim = 96;
  running.plan = {.slices = {{0, 0, 8, 0, 100}, {1, 0, 8, 0, 200}, {3, 0, 8, 0, 400}},
                  .shards = {{0, 1, 2}}};
  int column = 0;
  running.plan.shards.resize(widths_of_devices.size());
  for (std::size_t device = 0; device < widths_of_devices.size(); ++device) {
    for (const int width : widths_of_devices[device]) {
      running.plan.shards[device].push_back(static_cast<int>(running.plan.slices.size()));
      running.plan.slices.push_back({2, column, width, 0, 300});
      column += width;
    }
  }
  return running;
}

struct RuledParts {
  std::vector<std::vector<int>> widths_of_devices;
  TableRules rules;
  int moved_columns;
};

// All stays that rules let be, and as little as can be of the rest moves.
TEST(CarriedColumns, AreJoinedWhereRulesWantIt) {
  const std::vector<RuledParts> cases = {
      {{{32}, {32}, {32}}, {}, 0},
      {{{40}, {56}}, {.min_width = 40, .max_slices = 2}, 0},
      {{{32, 32}, {32}}, {.max_slices = 2}, 0},
      {{{4, 28}, {64}}, {.min_width = 8}, 0},
      {{{4}, {28}, {64}}, {.min_width = 8}, 4},
      {{{40}, {4}, {52}}, {.min_width = 8}, 4},
      {{{40}, {12}, {44}}, {.max_slices = 2}, 12},
      {{{32}, {32}, {32}}, {.max_slices = 2}, 32},
      {{{20}, {60}, {16}}, {.no_split = true}, 36},
      {{{20}, {60}, {16}}, {.kinds = {ShardingKind::kTable}}, 36},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const RunningPlan running = odd_job(cases[i].widths_of_devices);
    Task task = running.task;
    task.tables[2].rules = cases[i].rules;
    const std::int64_t bytes = cases[i].moved_columns * 300 * 4;
    const ReplanResult result = small_planner().replan(task, running, {.most_moved_bytes = bytes});
    ASSERT_TRUE(result.result.plan);
    EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
    EXPECT_EQ(result.must_move_bytes, 0);
    EXPECT_EQ(result.moved_bytes, bytes);
  }
}

TEST(CarriedColumns, HalvesThatAreTooManyStayWhereMostIs) {
  RunningPlan running = odd_job({{48}, {24}, {24}});
  running.task.tables[2].rules.max_slices = 2;
  const ReplanResult result =
      small_planner().replan(running.task, running, {.most_moved_bytes = 24 * 300 * 4});
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, running.task).empty());
  EXPECT_EQ(result.moved_bytes, 24 * 300 * 4);
}

/// Four tables of 64 columns, each whole on a device of its own, where `room` bytes are left.
RunningPlan full_job(std::int64_t room) {
  RunningPlan running;
  running.task.devices = 4;
  for (int t = 0; t < 4; ++t) {
    running.task.tables.push_back(table_of("t" + std::to_string(t), 1000, 64, 1.0));
    running.plan.slices.push_back({t, 0, 64, 0, 1000});
    running.plan.shards.push_back({t});
  }
  running.task.memory_bytes = running.task.tables[0].size_bytes() + room;
  return running;
}

/// There is no time for a search.
ReplanRequest at_once(std::int64_t most_moved_bytes) {
  ReplanRequest request{.most_moved_bytes = most_moved_bytes};
  request.plan.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  return request;
}

// No device has room for more than half of it.
TEST(CarriedColumns, OfALostTableAreCutToWhatHasRoom) {
  constexpr std::int64_t kTable = 1000 * 64 * 4;
  RunningPlan running = full_job(kTable / 2 + 1000);
  running.lost_devices = {1};
  Task task = running.task;
  task.devices = 3;
  const ReplanResult result = small_planner().replan(task, running, at_once(kTable));
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.moved_bytes, kTable);
}

TEST(CarriedColumns, GiveWayToATableThatHasGrownAsFewAsAreEnough) {
  constexpr std::int64_t kTable = 1000 * 64 * 4;
  const RunningPlan running = full_job(kTable / 10);
  Task task = running.task;
  task.tables[2].rows += 200;
  // 6 columns of 1200 rows are 28,800 bytes, and the next width is 8.
  constexpr std::int64_t kEnough = 200 * 56 * 4 + 1200 * 8 * 4;
  const ReplanResult result = small_planner().replan(task, running, at_once(kEnough));
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.must_move_bytes, 200 * 64 * 4);
  EXPECT_EQ(result.moved_bytes, kEnough);
}

// One of the two that share a device goes.
TEST(CarriedColumns, OfTablesThatAreToBeApartStayAsFarAsTheyMay) {
  RunningPlan running = full_job(std::int64_t{1} << 20);
  running.plan.shards = {{0, 1}, {2}, {3}, {}};
  Task task = running.task;
  task.groups = {{.tables = {0, 1, 2}, .keep = Keep::kApart}};
  constexpr std::int64_t kTable = 1000 * 64 * 4;
  const ReplanResult result = small_planner().replan(task, running, at_once(kTable));
  ASSERT_TRUE(result.result.plan);
  EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
  EXPECT_EQ(result.moved_bytes, kTable);
}

/// Columns of any widths, on any devices.
Plan random_cuts(const Task& task, std::mt19937_64& random) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    for (int column = 0; column < table.dim;) {
      const auto left = static_cast<std::uint64_t>((table.dim - column) / 4);
      const int dim = 4 + 4 * static_cast<int>(random() % left);
      plan.shards[random() % plan.shards.size()].push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back({t, column, dim, 0, table.rows});
      column += dim;
    }
  }
  return plan;
}

/// Two tables of which no device of the running plan has both.
std::optional<TableGroup> pair_apart(const Plan& plan, int tables, std::mt19937_64& random) {
  std::map<int, std::vector<bool>> devices;
  const auto by_device = slices_by_device(plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      devices[slice.table].resize(by_device.size());
      devices[slice.table][device] = true;
    }
  }
  const int first = static_cast<int>(random() % static_cast<std::uint64_t>(tables));
  for (int a = 0; a < tables; ++a) {
    for (int b = a + 1; b < tables; ++b) {
      const int one = (a + first) % tables;
      const int other = (b + first) % tables;
      bool shared = false;
      for (std::size_t d = 0; d < by_device.size(); ++d) {
        shared |= devices[one][d] && devices[other][d];
      }
      if (!shared) return TableGroup{.name = {}, .tables = {one, other}, .keep = Keep::kApart};
    }
  }
  return std::nullopt;
}

/// Bytes that are on no device, by the slices of columns that run.
std::int64_t bytes_on_no_device(const ChangedJob& job) {
  const RunningPlan& running = job.running;
  const auto by_device = slices_by_device(running.plan);
  std::int64_t bytes = 0;
  for (const Table& table : job.task.tables) {
    const RowBytes row = stored_bytes(table.memory);
    const std::int64_t before = rows_before(job, table.name);
    if (before == 0) bytes += table.rows * (row.per_column * table.dim + row.per_row);
    for (std::size_t device = 0; device < by_device.size(); ++device) {
      const bool lost =
          std::ranges::count(running.lost_devices, static_cast<int>(device), std::identity{}) > 0;
      for (const TableSlice& slice : by_device[device]) {
        if (running.task.tables[static_cast<std::size_t>(slice.table)].name != table.name) continue;
        const std::int64_t rows =
            lost ? table.rows : std::max<std::int64_t>(0, table.rows - before);
        bytes += rows * (row.per_column * slice.dim + row.per_row);
      }
    }
  }
  return bytes;
}

// A running plan made elsewhere: its slices are no halves of halves.
TEST(CarriedColumns, OfAnyWidthsAreKept) {
  const Planner planner = columns_planner();
  int no_more_than_must = 0;
  int with_groups = 0;
  int under_rules = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(100))) {
    std::mt19937_64 random(seed);
    ChangedJob job;
    job.running.task = random_task(seed);
    Task& before = job.running.task;
    before.memory_bytes = 4 * total_bytes(before);
    for (std::size_t t = 0; t < before.tables.size(); ++t) {
      before.tables[t].name = "table " + std::to_string(t);
    }
    job.running.plan = random_cuts(before, random);
    Task& task = job.task = before;
    std::vector<Table>& tables = task.tables;
    const bool grown = random() % 4 == 0;
    if (grown) tables[random() % tables.size()].rows *= 2;
    bool ruled = false;
    if (random() % 3 == 0) {
      Table& table = tables[random() % tables.size()];
      ruled = table.dim >= 8;
      if (ruled && random() % 2 == 0) table.rules.min_width = 8;
      if (ruled) table.rules.max_slices = static_cast<int>(random() % 4);
    }
    if (random() % 3 == 0) {
      if (auto group = pair_apart(job.running.plan, static_cast<int>(tables.size()), random)) {
        task.groups.push_back(*std::move(group));
        ++with_groups;
      }
    } else if (random() % 2 == 0 && task.devices > 1) {
      job.running.lost_devices.push_back(
          static_cast<int>(random() % static_cast<std::uint64_t>(task.devices)));
      --task.devices;
    }
    if (random() % 4 == 0) ++task.devices;
    if (random() % 4 == 0) {
      tables.push_back(tables.front());
      tables.back().name = "added";
      tables.back().rules = {};
    }
    under_rules += ruled ? 1 : 0;
    const ReplanResult replanned = planner.replan(task, job.running);
    ASSERT_TRUE(replanned.result.plan);
    EXPECT_TRUE(check_plan(*replanned.result.plan, task).empty());
    EXPECT_EQ(planner.simulate(task, *replanned.result.plan).cost_ms,
              replanned.result.cost.cost_ms);
    expect_moves_make_the_plan(job, replanned);
    const bool row_state = std::ranges::any_of(
        tables, [](const Table& table) { return stored_bytes(table.memory).per_row > 0; });
    const std::int64_t must = bytes_on_no_device(job);
    EXPECT_EQ(replanned.must_move_bytes, must);
    if (ruled) continue;
    const ReplanResult least = planner.replan(task, job.running, {.most_moved_bytes = must});
    ASSERT_TRUE(least.result.plan);
    EXPECT_LE(least.moved_bytes, must);
    EXPECT_TRUE(check_plan(*least.result.plan, task).empty());
    expect_moves_make_the_plan(job, least);
    // Lost slices that are joined need less state of rows.
    if (row_state) continue;
    EXPECT_GE(replanned.moved_bytes, must);
    EXPECT_EQ(least.moved_bytes, must);
    ++no_more_than_must;
    if (must > 0) {
      EXPECT_THAT(message_of([&] {
                    (void)planner.replan(task, job.running, {.most_moved_bytes = must - 1});
                  }),
                  HasSubstr("; give at least " + std::to_string(must) + " bytes ("));
    }
  }
  EXPECT_GT(no_more_than_must, testing::kFewTasks ? 0 : 20);
  EXPECT_GT(with_groups, testing::kFewTasks ? 0 : 10);
  EXPECT_GT(under_rules, testing::kFewTasks ? 0 : 10);
}

}  // namespace
}  // namespace neuroshard
