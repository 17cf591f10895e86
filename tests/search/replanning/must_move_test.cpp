// Tests what has to be moved if all tables stay sharded as they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/replanning/small_jobs.h"
#include "search/state/running_holders.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::planner_of;
using testing::small_changed_job;
using testing::SmallChangedJob;
using testing::table_of;

/// State of a row: 8 bytes of scales and 4 of the optimizer for each slice, 1 for a column.
constexpr TableMemory kStateOfRows{.weight_type = WeightType::kInt8,
                                   .optimizer = Optimizer::kRowwiseAdagrad};

/// Table a, of 1000 rows and 32 columns, in four slices on as many devices; b is whole.
RunningPlan sliced_job() {
  RunningPlan running;
  running.task.devices = 4;
  running.task.memory_bytes = std::int64_t{1} << 30;
  running.task.tables = {table_of("a", 1000, 32, 50.0), table_of("b", 100, 32, 1.0)};
  for (Table& table : running.task.tables) {
    table.memory = kStateOfRows;
    table.rules.kinds = {ShardingKind::kColumn};
  }
  running.plan.slices = {{0, 0, 8, 0, 1000},
                         {0, 8, 8, 0, 1000},
                         {0, 16, 8, 0, 1000},
                         {0, 24, 8, 0, 1000},
                         {1, 0, 32, 0, 100}};
  running.plan.shards = {{0}, {1}, {2}, {3, 4}};
  return running;
}

TEST(MustMove, EachSliceThatGrowsNeedsStateOfItsRows) {
  const RunningPlan running = sliced_job();
  Task task = running.task;
  task.tables[0].rows += 200;
  constexpr std::int64_t kMust = 4 * 200 * (8 + 12);
  const Planner planner = planner_of();
  const ReplanResult result =
      planner.replan(task, running, testing::without_small_moves({.unspent_bytes = 0}));
  EXPECT_EQ(result.must_move_bytes, kMust);
  EXPECT_LE(result.moved_bytes, kMust + kMust / 5);
  EXPECT_EQ(result.unspent_bytes, kMust + kMust / 5 - result.moved_bytes);
  // It is enough, and the least that there is.
  const ReplanResult least = planner.replan(task, running, {.most_moved_bytes = kMust});
  EXPECT_EQ(least.moved_bytes, kMust);
  EXPECT_THAT(
      message_of([&] { (void)planner.replan(task, running, {.most_moved_bytes = kMust - 1}); }),
      HasSubstr(
          "no plan was found within the move budget of 15.6 KiB; give at least 16000 bytes ("));
}

TEST(MustMove, LostSlicesAreCountedOneByOne) {
  RunningPlan running = sliced_job();
  running.plan.slices = {
      {0, 0, 8, 0, 1000}, {0, 8, 8, 0, 1000}, {0, 16, 16, 0, 1000}, {1, 0, 32, 0, 100}};
  running.plan.shards = {{0}, {1}, {2}, {3}};
  running.lost_devices = {0, 1};
  Task task = running.task;
  task.devices = 2;
  const ReplanResult result = planner_of().replan(task, running);
  EXPECT_EQ(result.must_move_bytes, 2 * 1000 * (8 + 12));
  // Joined they need less.
  const ReplanResult least =
      planner_of().replan(task, running, {.most_moved_bytes = 1000 * (16 + 12)});
  EXPECT_EQ(least.moved_bytes, 1000 * (16 + 12));
  EXPECT_EQ(least.must_move_bytes, result.must_move_bytes);
}

TEST(MustMove, ReplicasCountThoughAPlanDropsThem) {
  RunningPlan running;
  running.task.devices = 2;
  running.task.memory_bytes = std::int64_t{1} << 30;
  running.task.tables = {table_of("a", 5000, 16, 1.0), table_of("b", 5000, 16, 1.0)};
  running.plan = {.slices = {}, .shards = {{}, {}}, .replicas = {0, 1}};
  Task task = running.task;
  task.devices = 3;
  constexpr std::int64_t kCopies = 2 * 5000 * 16 * 4;
  const Planner planner = planner_of();
  for (const std::int64_t budget : {std::int64_t{0}, kCopies / 2, kCopies, kAnyBytes}) {
    SCOPED_TRACE(budget);
    const ReplanResult result = planner.replan(task, running, {.most_moved_bytes = budget});
    ASSERT_TRUE(result.result.plan);
    EXPECT_LE(result.moved_bytes, budget);
    EXPECT_EQ(result.must_move_bytes, kCopies);
  }
}

// Blocks of rows on a node of which one is lost; or that rules forbid, of which none is.
TEST(MustMove, OfTablesThatCannotStayItIsTheLeastThatAnotherWayNeeds) {
  RunningPlan running;
  running.task.devices = 4;
  running.task.devices_per_node = 2;
  running.task.memory_bytes = std::int64_t{1} << 30;
  running.task.tables = {table_of("on a node", 100, 8, 1.0), table_of("row-wise", 400, 8, 1.0),
                         table_of("odd blocks", 100, 8, 1.0)};
  running.plan = {.slices = {{0, 0, 8, 0, 50},
                             {0, 0, 8, 50, 50},
                             {1, 0, 8, 0, 100},
                             {1, 0, 8, 100, 100},
                             {1, 0, 8, 200, 100},
                             {1, 0, 8, 300, 100},
                             {2, 0, 8, 0, 30},
                             {2, 0, 8, 30, 70}},
                  .shards = {{0, 2}, {1, 3}, {4, 6}, {5, 7}}};
  ASSERT_THAT(check_plan(running.plan, running.task), IsEmpty());
  running.lost_devices = {1};
  Task task = running.task;
  task.devices = 3;
  task.tables[1].rules.kinds = {ShardingKind::kColumn};
  const Planner planner = planner_of();
  constexpr std::int64_t kRow = 8 * 4;
  EXPECT_EQ(planner.replan(task, running).must_move_bytes, (50 + 300) * kRow);
  running.lost_devices = {2};  // Row-wise, a block is 34 rows; of the first two 16 are to be sent.
  EXPECT_EQ(planner.replan(task, running).must_move_bytes, (16 + 32 + 300 + 30) * kRow);
  running.lost_devices = {};
  task.devices = 4;
  EXPECT_EQ(planner.replan(task, running).must_move_bytes, 300 * kRow);
}

/// Row-wise: how many rows device `device` of `devices` has, and from which on.
std::pair<std::int64_t, std::int64_t> block_of(std::int64_t rows, int devices, int device) {
  const std::int64_t of_block = (rows + devices - 1) / devices;
  const std::int64_t first = std::min(rows, of_block * device);
  return {first, std::min(rows, first + of_block)};
}

/// By the words that define it; nothing if a table is in row blocks, but not row-wise.
std::optional<std::int64_t> must_move_bytes(const SmallChangedJob& job) {
  const RunningPlan& running = job.running;
  const int before_devices = running.task.devices;
  std::vector<std::optional<int>> before_of;  // [new devices]
  for (int device = 0; device < before_devices; ++device) {
    if (std::ranges::count(running.lost_devices, device) == 0) before_of.emplace_back(device);
  }
  const auto left = before_of.size();
  before_of.resize(static_cast<std::size_t>(job.task.devices));
  const auto by_device = slices_by_device(running.plan);
  std::int64_t sum = 0;
  for (const Table& table : job.task.tables) {
    const RowBytes row = stored_bytes(table.memory);
    const auto add = [&](std::int64_t rows, int dim) {
      if (rows > 0) sum += rows * (row.per_column * dim + row.per_row);
    };
    const auto same = std::ranges::find(running.task.tables, table.name, &Table::name);
    if (same == running.task.tables.end()) {
      add(table.rows, table.dim);
      continue;
    }
    const auto t = static_cast<int>(same - running.task.tables.begin());
    const std::int64_t new_rows = table.rows - same->rows;
    if (std::ranges::count(running.plan.replicas, t) > 0) {
      for (std::size_t device = 0; device < before_of.size(); ++device) {
        add(device < left ? new_rows : table.rows, table.dim);
      }
      continue;
    }
    bool row_wise = false;
    for (int device = 0; device < before_devices; ++device) {
      const bool lost = std::ranges::count(running.lost_devices, device) > 0;
      for (const TableSlice& slice : by_device[static_cast<std::size_t>(device)]) {
        if (slice.table != t) continue;
        if (slice.rows == same->rows) {
          add(lost ? table.rows : new_rows, slice.dim);
          continue;
        }
        const auto [first, end] = block_of(same->rows, before_devices, device);
        if (slice.dim != table.dim || slice.first_row != first || slice.rows != end - first) {
          return std::nullopt;
        }
        row_wise = true;
      }
    }
    for (std::size_t device = 0; row_wise && device < before_of.size(); ++device) {
      const auto [first, end] = block_of(table.rows, job.task.devices, static_cast<int>(device));
      std::int64_t held = 0;
      if (before_of[device]) {
        const auto [held_first, held_end] =
            block_of(same->rows, before_devices, *before_of[device]);
        held = std::max<std::int64_t>(0, std::min(end, held_end) - std::max(first, held_first));
      }
      add(end - first - held, table.dim);
    }
  }
  return sum;
}

TEST(MustMove, IsTheSameWhateverIsAskedOfThePlan) {
  const Planner planner = planner_of();
  int plans = 0;
  int with_less = 0;
  int refused = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(30))) {
    auto job = small_changed_job(planner, seed);
    if (!job) continue;
    for (Task* task : {&job->running.task, &job->task}) {
      for (Table& table : task->tables) {
        if (table.rows % 2 == 0) table.memory = kStateOfRows;
      }
    }
    const std::optional<std::int64_t> must = must_move_bytes(*job);
    if (!must) continue;
    const std::array<ReplanRequest, 6> requests = {ReplanRequest{},
                                                   {.ms_per_moved_gib = 1.0},
                                                   {.unspent_bytes = 100'000},
                                                   {.most_moved_bytes = *must / 2},
                                                   {.most_moved_bytes = *must},
                                                   {.most_moved_bytes = kAnyBytes}};
    for (const ReplanRequest& request : requests) {
      try {
        const ReplanResult result = planner.replan(job->task, job->running, request);
        EXPECT_EQ(result.must_move_bytes, *must);
        ++plans;
        with_less += result.moved_bytes < *must ? 1 : 0;
      } catch (const Error& error) {
        ++refused;
        // It is not said in vain.
        const std::string text = error.what();
        const std::string before = "; give at least ";
        const std::size_t at = text.find(before);
        ASSERT_NE(at, std::string::npos) << text;
        const std::int64_t enough = std::stoll(text.substr(at + before.size()));
        EXPECT_GT(enough, *request.most_moved_bytes);
        const ReplanResult result =
            planner.replan(job->task, job->running, {.most_moved_bytes = enough});
        EXPECT_TRUE(result.result.plan);
        EXPECT_LE(result.moved_bytes, enough);
      }
    }
  }
  EXPECT_GT(plans, testing::kFewTasks ? 0 : 50);
  EXPECT_GT(with_less, testing::kFewTasks ? -1 : 5);
  EXPECT_GT(refused, testing::kFewTasks ? -1 : 5);
}

}  // namespace
}  // namespace neuroshard
