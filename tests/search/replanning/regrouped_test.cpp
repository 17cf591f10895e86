// Tests re-planning of groups of devices that become larger or smaller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/replanning/small_jobs.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::planner_of;
using testing::table_of;

Task job_in_groups(int devices, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 30};
  for (int t = 0; t < 8; ++t) {
    const auto rows = static_cast<std::int64_t>(100 + random() % 400);
    const int dim = 16 * static_cast<int>(1 + random() % 4);
    const auto pooling_factor = static_cast<double>(1 + random() % 100);
    task.tables.push_back(table_of("t" + std::to_string(t), rows, dim, pooling_factor));
    task.tables.back().memory = {};  // A row has nothing but its columns.
    if (seed % 2 == 0) task.tables.back().rules.kinds = {ShardingKind::kColumn};
  }
  return task;
}

using CellOfTable = std::tuple<int, int, std::int64_t>;  // Table, column, row.

/// [devices]: all that each holds by a plan.
std::vector<std::set<CellOfTable>> cells_held(const Task& task, const Plan& plan) {
  std::vector<std::set<CellOfTable>> cells(plan.shards.size());
  const auto add = [](const TableSlice& slice, std::set<CellOfTable>& held) {
    for (int column = 0; column < slice.dim; ++column) {
      for (std::int64_t row = 0; row < slice.rows; ++row) {
        held.emplace(slice.table, slice.first_column + column, slice.first_row + row);
      }
    }
  };
  for (std::size_t d = 0; d < cells.size(); ++d) {
    for (const int s : plan.shards[d]) add(plan.slices[static_cast<std::size_t>(s)], cells[d]);
    for (const int t : plan.replicas) {
      const Table& table = task.tables[static_cast<std::size_t>(t)];
      add({t, 0, table.dim, 0, table.rows}, cells[d]);
    }
  }
  return cells;
}

/// Place in its group of each of `all` devices in groups of `size`.
std::vector<std::size_t> places_by_device(int all, int size, GroupLayout layout) {
  std::vector<std::size_t> places;
  for (int device = 0; device < all; ++device) {
    const int copies = all / size;
    places.push_back(static_cast<std::size_t>(
        layout == GroupLayout::kConsecutive ? device % size : device / copies));
  }
  return places;
}

/// Bytes that all devices lack, cell by cell.
std::int64_t bytes_lacked(const RunningPlan& running, const Task& task, const Plan& plan, int all) {
  const auto before = cells_held(running.task, running.plan);
  const auto now = cells_held(task, plan);
  const auto was = places_by_device(all, running.task.devices, *running.regrouped);
  const auto is = places_by_device(all, task.devices, *running.regrouped);
  std::int64_t bytes = 0;
  for (std::size_t device = 0; device < was.size(); ++device) {
    for (const CellOfTable& cell : now[is[device]]) {
      if (!before[was[device]].contains(cell)) bytes += 4;
    }
  }
  return bytes;
}

// There are as many devices as a larger group has; more would be more of the same.
TEST(Regrouped, BytesAreThoseThatDevicesLack) {
  const Planner planner = planner_of();
  int moved_nothing = 0;
  for (std::uint64_t seed = 0; seed < testing::repetitions(12); ++seed) {
    for (const auto& [before, now] : {std::pair{4, 8}, {8, 4}, {2, 6}, {6, 2}}) {
      for (const GroupLayout layout : all_group_layouts()) {
        SCOPED_TRACE(std::to_string(seed) + ": " + std::to_string(before) + " to " +
                     std::to_string(now) + ' ' + std::string(name_of(layout)));
        RunningPlan running{.task = job_in_groups(before, seed), .plan = {}, .regrouped = layout};
        PlanResult planned = planner.plan(running.task);
        ASSERT_TRUE(planned.plan);
        running.plan = *std::move(planned.plan);
        const Task task = job_in_groups(now, seed);
        const ReplanResult result = planner.replan(task, running, {});
        ASSERT_TRUE(result.result.plan);
        EXPECT_TRUE(check_plan(*result.result.plan, task).empty());
        const int all = std::max(before, now);
        EXPECT_EQ(result.moved_bytes, bytes_lacked(running, task, *result.result.plan, all));
        std::int64_t of_moves = 0;
        for (const TableMove& move : result.moves) of_moves += move.bytes;
        EXPECT_EQ(of_moves, result.moved_bytes);
        // Budgets are kept. Larger groups can run without any move, unless rows are in blocks.
        const ReplanResult least =
            planner.replan(task, running, {.most_moved_bytes = result.must_move_bytes});
        EXPECT_LE(least.moved_bytes, result.must_move_bytes);
        if (now > before && least.moved_bytes == 0) ++moved_nothing;
        // Each of the smaller groups needs all tables, of which it has its part.
        if (now < before) {
          std::int64_t all_bytes = 0;
          for (const Table& table : task.tables) all_bytes += 4 * table.rows * table.dim;
          if (running.plan.replicas.empty()) {
            EXPECT_GE(result.must_move_bytes, (before / now - 1) * all_bytes);
          }
        }
      }
    }
  }
  EXPECT_GT(moved_nothing, 0);
}

TEST(Regrouped, SlicesAreSharedOutAmongTheDevicesThatHaveThem) {
  const Planner planner = planner_of();
  RunningPlan running{
      .task = job_in_groups(2, 0), .plan = {}, .regrouped = GroupLayout::kConsecutive};
  running.plan = planner.plan(running.task).plan.value();
  const Task task = job_in_groups(4, 0);
  const ReplanResult result = planner.replan(task, running, {.most_moved_bytes = 0});
  EXPECT_EQ(result.moved_bytes, 0);
  EXPECT_TRUE(result.moves.empty());
  ASSERT_TRUE(result.result.plan);
  for (const std::vector<int>& shard : result.result.plan->shards) EXPECT_FALSE(shard.empty());
}

TEST(Regrouped, RefusesWhatCannotBe) {
  const Planner planner = planner_of();
  RunningPlan running{
      .task = job_in_groups(4, 0), .plan = {}, .regrouped = GroupLayout::kInterleaved};
  running.plan = planner.plan(running.task).plan.value();
  const auto error_for = [&](int devices) {
    return message_of([&] { (void)planner.replan(job_in_groups(devices, 0), running, {}); });
  };
  EXPECT_EQ(error_for(6),
            "groups of 4 devices cannot become groups of 6; give a size of which one is a multiple "
            "of the other");
  running.lost_devices = {1};
  EXPECT_THAT(error_for(2), HasSubstr("plan for one after the other"));
}

}  // namespace
}  // namespace neuroshard
